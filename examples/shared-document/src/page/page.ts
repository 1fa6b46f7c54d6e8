import type { FromPage, PageMember, Part, Role, ToPage } from '../messages.ts'

/*
 * The page shows only what it may believe. It has a role for as long as its server vouches for that, counted from when it *asked*. If no
 * answer comes, it stops claiming the role by itself, before anybody else can have it.
 */

const pingEveryMs = 500
const reconnectMs = 1_000

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
  readonly does: string
  readonly verb: string
}

const view = (role: Role, part: Part, does: string, verb: string): RoleView => ({
  role,
  part,
  box: element(part),
  line: element(`${role}-line`),
  button: element(`${role}-button`),
  does,
  verb,
})
const views = [view('writer', 'text', 'writing', 'Write'), view('reviewer', 'note', 'reviewing', 'Review')]

let user = ''
let tab = crypto.randomUUID() as string
let role: Role = 'reader'
let members: readonly PageMember[] | null = null
let socket: WebSocket | undefined
let trustedUntilMs = 0
let endOfTrust: ReturnType<typeof setTimeout> | undefined
let knownAt: Date | undefined
/** What somebody took over, until it is known who. */
let takenOver: Role | undefined
let pings = 0
const sentAtMs = new Map<number, number>()

const isTrusted = (): boolean => socket?.readyState === WebSocket.OPEN && performance.now() < trustedUntilMs

function send(message: FromPage): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
}

function ping(): void {
  pings++
  sentAtMs.set(pings, performance.now())
  send({ type: 'ping', number: pings })
}

function connect(): void {
  const address = new URL('/socket', location.href)
  address.protocol = address.protocol.replace('http', 'ws')
  for (const [name, value] of Object.entries({ user, tab, role })) address.searchParams.set(name, value)
  const opened = new WebSocket(address)
  socket = opened
  sentAtMs.clear()
  opened.addEventListener('open', ping)
  opened.addEventListener('message', ({ data }) => onMessage(JSON.parse(String(data)) as ToPage))
  opened.addEventListener('close', ({ code }) => {
    if (opened !== socket) return
    trustedUntilMs = 0
    if (code === 4001) {
      // Somebody took the role over. A new name for the tab: if it was this very tab, opened twice, the two must not displace each other.
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
  if (message.type === 'pong') {
    trustedUntilMs = Math.max(trustedUntilMs, (sentAtMs.get(message.number) ?? 0) + message.trustMs)
    knownAt = new Date()
    clearTimeout(endOfTrust)
    // A timer drops the fraction: it would come too early, and the page claim its role until the next.
    endOfTrust = setTimeout(render, Math.ceil(trustedUntilMs - performance.now()) + 1)
    for (const number of sentAtMs.keys()) if (number <= message.number) sentAtMs.delete(number)
  } else if (message.type === 'role') {
    role = message.role
    ping()
  } else if (message.type === 'held') {
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
  } else {
    for (const { part, box } of views) {
      const isMine = !box.readOnly && document.activeElement === box
      if (!isMine && box.value !== message[part]) box.value = message[part]
    }
  }
  render()
}

function render(): void {
  const trusted = isTrusted()
  status.dataset['state'] = trusted ? 'on' : 'off'
  const asOf = knownAt ? `. What you see is from ${knownAt.toLocaleTimeString('en-GB')}` : ''
  setText(status, trusted ? `Connected as ${user}` : `Not connected${asOf}`)
  element('document').dataset['stale'] = String(!trusted)
  for (const each of views) renderRole(each, trusted)
  renderMembers(trusted)
}

function renderRole({ role: shown, box, line, button, does, verb }: RoleView, trusted: boolean): void {
  const isMine = trusted && role === shown
  const holder = holderOf(shown)
  box.readOnly = !isMine
  line.dataset['mine'] = String(isMine)
  button.disabled = !trusted || (members === null && !isMine)
  const other = holder?.user === user ? 'You are' : `${holder?.user} is`
  if (!trusted) setText(line, 'Not known while not connected')
  else if (isMine) setText(line, `You are ${does}`)
  else if (members === null) setText(line, 'The server does not reach its store')
  else setText(line, holder ? `${other} ${does}${holder.user === user ? ' in another tab' : ''}` : `Nobody is ${does}`)
  setText(button, isMine ? `Stop ${does}` : holder && trusted ? 'Take over' : verb)
  button.setAttribute('aria-label', isMine || !holder ? (button.textContent ?? '') : `Take over ${does}`)
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

/** Without touching what is the same: a screen reader tells of each change. */
function setText(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text
}

for (const { role: wanted, part, box, button } of views) {
  button.addEventListener('click', () => {
    notice.textContent = ''
    const isMine = role === wanted
    send({ type: 'take', role: isMine ? 'reader' : wanted, over: holderOf(wanted) !== undefined })
  })
  box.addEventListener('input', () => {
    if (isTrusted()) send({ type: 'write', part, value: box.value })
  })
}

element<HTMLFormElement>('join').addEventListener('submit', (event) => {
  event.preventDefault()
  user = element<HTMLInputElement>('name').value.trim()
  if (!user) return
  element('join').hidden = true
  element('document').hidden = false
  connect()
  element('writer-button').focus()
})

setInterval(() => {
  ping()
  render()
}, pingEveryMs)
render()
