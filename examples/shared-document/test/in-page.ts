import type { Page } from 'playwright-core'

/*
 * What is read from a page. These programs run in it, and are text because nothing of the page type-checks here.
 */

/** What a page shows of the document's text. */
interface Shown {
  /** Whether it says that its user writes, or lets them. */
  readonly claims: boolean
  readonly text: string
  /** Whether it says that the text is not saved yet. */
  readonly isSaving: boolean
  /** What it shows beside the text as typed and not answered. */
  readonly unanswered: string
}

/** What the page shows once its due timers have run: on a busy machine they are late. */
export const shown = (page: Page): Promise<Shown> =>
  page.evaluate(`new Promise((resolve) => setTimeout(() => {
    const element = (id) => document.getElementById(id)
    resolve({
      claims: element('writer-line').dataset.mine === 'true' || !element('text').readOnly,
      text: element('text').value,
      isSaving: element('text-saving').textContent === 'Saving',
      unanswered: element('text-unanswered').hidden ? '' : element('text-unanswered-text').value,
    })
  }))`)

/** The page's HTML, with what its boxes contain now. */
export const captured = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const copy = document.body.cloneNode(true)
    const boxes = document.querySelectorAll('textarea')
    copy.querySelectorAll('textarea').forEach((box, at) => { box.textContent = boxes[at].value })
    return copy.innerHTML
  })()`)

/** What cannot be read: text and controls beyond the edge, or with less contrast than 4.5 : 1 (WCAG 2, level AA). */
export const troubles = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`(() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number)
    const luminance = (color) => {
      const [red, green, blue] = channels(color).map((value) => {
        const share = value / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
    const ground = (element) => {
      const color = getComputedStyle(element).backgroundColor
      return channels(color)[3] === 0 ? ground(element.parentElement) : color
    }
    const contrast = (element) => {
      const [dark, light] = [getComputedStyle(element).color, ground(element)].map(luminance).sort((a, b) => a - b)
      return (light + 0.05) / (dark + 0.05)
    }
    const troubles = []
    const { scrollWidth } = document.documentElement
    if (scrollWidth > innerWidth) troubles.push('The page is ' + scrollWidth + ' px wide')
    for (const element of document.body.querySelectorAll('*')) {
      const isControl = ['BUTTON', 'INPUT', 'TEXTAREA'].includes(element.tagName)
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
      if (!(isControl || hasText) || !element.checkVisibility()) continue
      const name = element.id || element.textContent
      const { left, right } = element.getBoundingClientRect()
      if (left < 0 || right > innerWidth) troubles.push(name + ' is cut off')
      if (contrast(element) < 4.5) troubles.push(name + ' has a contrast of ' + contrast(element).toFixed(2))
    }
    return troubles
  })()`)
