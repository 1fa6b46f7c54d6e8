import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noChromium, startChromium } from '../../../test/support/chromium.ts'
import { elapse, eventually, soak } from '../../../test/support/scale.ts'

/*
 * Two people, each with a browser, on two servers. What a page shows is compared with the store's state at that moment.
 */

const main = new URL('../src/main.ts', import.meta.url)
const ttlMs = soak ? 2_500 : 2_000
/** The folder for screenshots of the page, if they are wanted. */
const pictures = process.env['LEASEHOLD_PICTURES']

describe.skipIf(noChromium !== undefined)(`the page${noChromium === undefined ? '' : ` (${noChromium})`}`, () => {
  let stack: AsyncDisposableStack
  let redis: RedisServer
  let first: LocalProcess
  let proxy: TcpProxy
  let ada: Page
  let bob: Page
  const server = (name: string, port = '0'): Promise<LocalProcess> =>
    startNodeProgram(main, { REDIS_URL: redis.url, SESSION_TTL: `${ttlMs}ms`, SERVER_NAME: name, PORT: port })

  // Each test ends with both people connected, and nobody writing.
  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'leasehold-chromium-'))
    stack.defer(() => rm(folder, { recursive: true, force: true }))
    redis = stack.use(await startRedis())
    const browser = async (): Promise<Browser> => {
      const started = await startChromium(folder)
      stack.defer(() => started.close())
      return started
    }
    const [one, two, hers, his] = await Promise.all([server('first'), server('second'), browser(), browser()])
    first = one
    stack.defer(() => first[Symbol.asyncDispose]())
    stack.use(two)
    proxy = stack.use(await startTcpProxy({ port: Number(new URL(first.url).port) }))
    ;[ada, bob] = await Promise.all([
      opened(hers, `http://127.0.0.1:${proxy.port}`, 'Ada'),
      opened(his, two.url, 'Bob'),
    ])
  })
  afterAll(() => stack?.disposeAsync())

  /** Opens the page and enters a name, with the keyboard alone. */
  async function opened(browser: Browser, url: string, name: string): Promise<Page> {
    const page = await (await browser.newContext({ viewport: { width: 1100, height: 760 } })).newPage()
    await page.goto(url)
    await focus(page, 'name')
    await page.keyboard.type(name)
    await page.keyboard.press('Enter')
    await says(page, '#status', `Connected as ${name}`)
    return page
  }

  async function says(page: Page, what: string, text: string | RegExp): Promise<void> {
    let said = ''
    const isSaid = async (): Promise<boolean> => {
      said = (await page.textContent(what)) ?? ''
      return typeof text === 'string' ? said === text : text.test(said)
    }
    await eventually(isSaid).catch(() => expect(said).toMatch(text))
  }

  /** What the page shows once its due timers have run: on a busy machine they are late. */
  async function claimsToWrite(page: Page): Promise<boolean> {
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
    const isShown = (await page.getAttribute('#writer-line', 'data-mine')) === 'true'
    return isShown || (await page.evaluate("!document.getElementById('text').readOnly")) === true
  }

  /** Presses Tab until the element has the focus, as somebody without a mouse does. */
  async function focus(page: Page, id: string): Promise<void> {
    for (let tabs = 0; tabs < 12; tabs++) {
      if ((await page.evaluate('document.activeElement?.id')) === id) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`Nobody gets to #${id} with the Tab key`)
  }

  async function press(page: Page, id: string): Promise<void> {
    await focus(page, id)
    await page.keyboard.press('Enter')
  }

  async function stopWriting(page: Page): Promise<void> {
    await press(page, 'writer-button')
    for (const each of [ada, bob]) await says(each, '#writer-line', 'Nobody is writing')
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
  }

  it('has one writer and one reviewer, shows who is here, and lets one take over; by keyboard alone', async () => {
    await says(ada, '#members', /Ada \(you\).*Bob/)
    await press(ada, 'writer-button')
    await says(ada, '#writer-line', 'You are writing')
    await focus(ada, 'text')
    await ada.keyboard.type('Dear all')
    await expect.poll(() => bob.inputValue('#text')).toBe('Dear all')
    await says(bob, '#writer-line', 'Ada is writing')
    await says(bob, '#members', /Ada\s*writes.*Bob \(you\)\s*reads/)
    expect(await bob.evaluate("document.getElementById('text').readOnly")).toBe(true)

    await press(bob, 'reviewer-button')
    await says(bob, '#reviewer-line', 'You are reviewing')
    await focus(bob, 'note')
    await bob.keyboard.type('Fine')
    await expect.poll(() => ada.inputValue('#note')).toBe('Fine')
    await picture(ada, 'wide-light-writer')
    await picture(bob, 'wide-light-reviewer')

    await press(bob, 'writer-button')
    await says(bob, '#writer-line', 'You are writing')
    await says(ada, '#notice', 'Bob took over: you are no longer writing.')
    await says(ada, '#writer-line', 'Bob is writing')
    expect(await claimsToWrite(ada)).toBe(false)
    await picture(ada, 'wide-light-taken-over')
    await says(ada, '#reviewer-line', 'Nobody is reviewing')
    await focus(bob, 'text')
    await bob.keyboard.press('End')
    await bob.keyboard.type(', hello')
    await expect.poll(() => ada.inputValue('#text')).toBe('Dear all, hello')
    await stopWriting(bob)
  })

  it('fits narrow and wide, light and dark', async () => {
    await press(ada, 'writer-button')
    await says(ada, '#writer-line', 'You are writing')
    await ada.evaluate("document.getElementById('text').value = ''")
    await focus(ada, 'text')
    await ada.keyboard.type('Minutes of Monday\n\nWe ship on Thursday, unless the tests of the page fail.')
    await expect.poll(() => bob.inputValue('#text')).toMatch(/Thursday/)
    await says(bob, '#writer-line', 'Ada is writing')
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [name, width] of [
        ['narrow', 360],
        ['wide', 1100],
      ] as const) {
        for (const [who, page] of [
          ['ada', ada],
          ['bob', bob],
        ] as const) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 760 })
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
          await picture(page, `${name}-${colorScheme}-${who}`)
        }
      }
    }
    await stopWriting(ada)
  })

  it('claims no role any more that it has asked to give up, even if no answer comes', async () => {
    await press(ada, 'writer-button')
    await says(ada, '#writer-line', 'You are writing')
    proxy.blackHole()
    await press(ada, 'writer-button')
    expect([await claimsToWrite(ada), await ada.textContent('#status')]).toEqual([false, 'Connected as Ada'])
    proxy.cut()
    proxy.restore()
    await says(ada, '#status', 'Connected as Ada')
    await says(ada, '#writer-line', 'You are writing')
    await stopWriting(ada)
  })

  it('stops claiming before anybody else can write when its network is cut without a word', async () => {
    await press(ada, 'writer-button')
    await says(ada, '#writer-line', 'You are writing')
    await says(bob, '#writer-line', 'Ada is writing')
    proxy.blackHole()
    let claimed = true
    for (let isBobs = false; !isBobs; ) {
      isBobs = (await bob.textContent('#writer-line')) === 'Nobody is writing'
      claimed = await claimsToWrite(ada)
      await elapse(20)
    }
    expect(claimed).toBe(false)
    await says(ada, '#status', /^Not connected/)
    await press(bob, 'writer-button')
    await says(bob, '#writer-line', 'You are writing')
    proxy.cut()
    proxy.restore()
    await says(ada, '#status', 'Connected as Ada')
    await says(ada, '#writer-line', 'Bob is writing')
    await stopWriting(bob)
  })

  it('says that it is not connected when its server is killed, claims nothing, and goes on with the next server', async () => {
    await press(ada, 'writer-button')
    await says(ada, '#writer-line', 'You are writing')
    await says(bob, '#writer-line', 'Ada is writing')
    first.kill('SIGKILL')
    await says(ada, '#status', /^Not connected\. What you see is from \d\d:/)
    expect(await claimsToWrite(ada)).toBe(false)
    await says(ada, '#writer-line', 'Not known while not connected')
    await picture(ada, 'wide-light-not-connected')
    await eventually(async () => !(await bob.textContent('#members'))?.includes('Ada'), ttlMs + 5_000)
    await says(bob, '#writer-line', 'Nobody is writing')
    await press(bob, 'writer-button')
    await says(bob, '#writer-line', 'You are writing')

    first = await server('first', new URL(first.url).port)
    await says(ada, '#status', 'Connected as Ada')
    await says(ada, '#writer-line', 'Bob is writing')
    await says(ada, '#notice', 'Bob took over while you were not connected.')
    expect(await claimsToWrite(ada)).toBe(false)
    await stopWriting(bob)
  })

  it.skipIf(!soak)('says so when its server does not reach the store any more', async () => {
    await press(ada, 'writer-button')
    await says(ada, '#writer-line', 'You are writing')
    await redis.stop()
    for (const page of [ada, bob]) {
      await eventually(async () => /^Not connected/.test((await page.textContent('#status')) ?? ''), 15_000)
      expect(await claimsToWrite(page)).toBe(false)
    }
  })
})
