import type { FromPage, PageMember, Part, Role, ToPage } from '../messages.ts'
import { Draft } from './draft.ts'
import { Trust } from './trust.ts'

/*
 * The page shows only what it can trust. It has a role for as long as its server vouches for it, counted from when the
 * page *asked*. If no answer comes, the page stops claiming the role on its own, before the role is free for others.
 * What is typed counts as the document once the server has answered that the store has it.
 */

const pingEveryMs = 500
const reconnectMs = 1_000
/** How long a socket may be silent, in milliseconds. A socket whose network is gone may seem open for minutes. */
const silenceMs = 5_000

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E
const status = element('status')
const notice = element('notice')
const memberList = element('members')

interface RoleView {
  readonly role: Role
  readonly part: Part
  readonly box: HTMLTextAreaElement
  readonly line: HTMLElement
  readonly button: HTMLButtonElement
  readonly draft: Draft
  readonly does: string
  readonly verb: string
}

const view = (role: Role, part: Part, does: string, verb: string): RoleView => ({
  role,
  part,
  box: element(part),
  line: element(`${role}-line`),
  button: element(`${role}-button`),
  draft: new Draft(),
  does,
  verb,
})
const views = [view('writer', 'text', 'writing', 'Write'), view('reviewer', 'note', 'reviewing', 'Review')]

let user = ''
let tab = crypto.randomUUID() as string
let role: Role = 'reader'
let members: readonly PageMember[] | null = null
let socket: WebSocket | undefined
/** The role that was asked for, until the answer arrives. Until then it is unknown which role the page has. */
let asked: Role | undefined
const trust = new Trust()
let heardMs = 0
let endOfTrust: ReturnType<typeof setTimeout> | undefined
let knownAt: Date | undefined
/** The role that somebody took over, until it is known who did. */
let takenOver: Role | undefined
let writes = 0

const isTrusted = (): boolean => socket?.readyState === WebSocket.OPEN && trust.leftMs > 0

function send(message: FromPage): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
}

const ping = (): void => send({ type: 'ping', number: trust.ask() })

function connect(): void {
  const address = new URL('/socket', location.href)
  address.protocol = address.protocol.replace('http', 'ws')
  for (const [name, value] of Object.entries({ user, tab, role })) address.searchParams.set(name, value)
  const opened = new WebSocket(address)
  socket = opened
  trust.end()
  asked = undefined
  heardMs = performance.now()
  opened.addEventListener('open', ping)
  opened.addEventListener('message', ({ data }) => {
    // A socket that was given up may still deliver what was true some time ago.
    if (opened === socket) onMessage(JSON.parse(String(data)) as ToPage)
  })
  opened.addEventListener('close', ({ code }) => {
    if (opened !== socket) return
    trust.end()
    if (code === 4001) {
      // Somebody took the role over. The tab gets a new name: if the other is a duplicate of this tab, the two must not
      // displace each other.
      takenOver = role === 'reader' ? undefined : role
      role = 'reader'
      tab = crypto.randomUUID()
    }
    render()
    setTimeout(connect, code === 4001 ? 0 : reconnectMs)
  })
}

const doing = (had: Role): string => views.find((each) => each.role === had)?.does ?? 'reading'

const holderOf = (held: Role): PageMember | undefined => members?.find(({ roles }) => roles.includes(held))

function onMessage(message: ToPage): void {
  heardMs = performance.now()
  if (message.type === 'pong') {
    const askedAt = trust.answered(message.number, message.trustMs)
    if (askedAt !== undefined) knownAt = new Date(askedAt - message.ageMs)
    clearTimeout(endOfTrust)
    // A timer drops the fraction: it would fire too early, and the page would claim its role until the next render.
    endOfTrust = setTimeout(render, Math.ceil(trust.leftMs) + 1)
  } else if (message.type === 'role') {
    asked = undefined
    role = message.role
    ping()
  } else if (message.type === 'held') {
    asked = undefined
    if (message.role === role) {
      notice.textContent = `${message.by} took over while you were not connected.`
      role = 'reader'
    } else notice.textContent = `${message.by} is ${doing(message.role)}.`
  } else if (message.type === 'members') {
    members = message.members
    const by = takenOver && holderOf(takenOver)
    if (takenOver && by && by.user !== user) {
      notice.textContent = `${by.user} took over: you are no longer ${doing(takenOver)}.`
      takenOver = undefined
    }
  } else if (message.type === 'written') {
    for (const { draft } of views) draft.written(message.number)
  } else {
    for (const { part, draft } of views) draft.found(message[part])
  }
  render()
}

function render(): void {
  const trusted = isTrusted()
  status.dataset['state'] = trusted ? 'on' : 'off'
  const asOf = knownAt ? `. What you see is from ${knownAt.toLocaleTimeString('en-GB')}` : ''
  setText(status, trusted ? `Connected as ${user}` : `Not connected${asOf}`)
  element('document').dataset['stale'] = String(!trusted)
  for (const each of views) {
    renderPart(each, trusted)
    renderRole(each, trusted)
  }
  renderMembers(trusted)
}

function renderPart({ role: shown, part, box, draft }: RoleView, trusted: boolean): void {
  if (!trusted || role !== shown) draft.giveUp()
  if (!draft.isWaiting && box.value !== draft.stored) box.value = draft.stored
  setText(element(`${part}-saving`), draft.isWaiting ? 'Saving' : '')
  const { unanswered } = draft
  const warning = 'You typed this, and no answer came. It may be missing from the document.'
  setText(element(`${part}-unanswered-line`), unanswered && warning)
  element(`${part}-unanswered`).hidden = !unanswered
  const copy = element<HTMLTextAreaElement>(`${part}-unanswered-text`)
  if (copy.value !== unanswered) copy.value = unanswered
}

function renderRole({ role: shown, box, line, button, does, verb }: RoleView, trusted: boolean): void {
  const isAsked = trusted && asked !== undefined && [asked, role].includes(shown)
  const isMine = trusted && role === shown && !isAsked
  const holder = holderOf(shown)
  box.readOnly = !isMine
  line.dataset['mine'] = String(isMine)
  if (isAsked) {
    // The button stays as it is, and keeps the focus.
    setText(line, 'Waiting for an answer')
    return
  }
  button.disabled = !trusted || (members === null && !isMine)
  const other = holder?.user === user ? 'You are' : `${holder?.user} is`
  if (!trusted) setText(line, 'Not known while not connected')
  else if (isMine) setText(line, `You are ${does}`)
  else if (members === null) setText(line, 'The server does not reach its store')
  else setText(line, holder ? `${other} ${does}${holder.user === user ? ' in another tab' : ''}` : `Nobody is ${does}`)
  const takesOver = trusted && !isMine && holder !== undefined
  setText(button, isMine ? `Stop ${does}` : takesOver ? 'Take over' : verb)
  button.setAttribute('aria-label', takesOver ? `Take over ${does}` : (button.textContent ?? ''))
}

const words: Readonly<Record<string, string>> = { writer: 'writes', reviewer: 'reviews', reader: 'reads' }

function renderMembers(trusted: boolean): void {
  const known = trusted ? [...(members ?? [])].sort((a, b) => a.user.localeCompare(b.user)) : []
  const lines = known.map(({ user: name, roles, tabs }) => {
    const acts = roles.filter((each) => each !== 'reader' || roles.length === 1).map((each) => words[each] ?? each)
    return [name === user ? `${name} (you)` : name, `${acts.join(', ')}${tabs > 1 ? `, ${tabs} tabs` : ''}`] as const
  })
  const text = JSON.stringify([trusted, lines])
  if (memberList.dataset['shown'] === text) return
  memberList.dataset['shown'] = text
  memberList.replaceChildren(
    ...lines.map(([name, roles]) => {
      const item = document.createElement('li')
      const [who, what] = [document.createElement('span'), document.createElement('span')]
      who.textContent = name
      what.textContent = roles
      what.className = 'roles'
      item.append(who, what)
      return item
    }),
  )
  if (lines.length === 0) {
    const item = document.createElement('li')
    item.textContent = 'Not known at present'
    memberList.append(item)
  }
}

/** Leaves unchanged text alone: a screen reader announces each change. */
function setText(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text
}

for (const { role: wanted, part, box, button, draft } of views) {
  button.addEventListener('click', () => {
    if (asked || !isTrusted()) return
    notice.textContent = ''
    asked = role === wanted ? 'reader' : wanted
    send({ type: 'take', role: asked, over: holderOf(wanted) !== undefined })
    render()
  })
  box.addEventListener('input', () => {
    writes++
    draft.typed(writes, box.value)
    if (isTrusted()) send({ type: 'write', number: writes, part, value: box.value })
    render()
  })
  element(`${part}-discard`).addEventListener('click', () => {
    draft.discard()
    render()
    box.focus()
  })
}

element<HTMLFormElement>('join').addEventListener('submit', (event) => {
  event.preventDefault()
  user = element<HTMLInputElement>('name').value.trim()
  if (!user) return
  element('join').hidden = true
  element('document').hidden = false
  connect()
  // Its buttons cannot get the focus before there is a connection.
  element('document').focus()
})

setInterval(() => {
  const silent = socket
  if (silent && silent.readyState < WebSocket.CLOSING && performance.now() - heardMs > silenceMs) {
    connect()
    silent.close()
  }
  ping()
  render()
}, pingEveryMs)
// Timers of a hidden page fire late.
document.addEventListener('visibilitychange', render)
render()
