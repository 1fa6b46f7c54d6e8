/** The verdict on a list of notes, written in the order in which their authors came and went. */
export interface Verdict {
  /** How often each author was in. */
  readonly rounds: Readonly<Record<string, number>>
  /** How often the author who came in was not the previous one. */
  readonly turns: number
  /** Where an author came in while another was there, or left without having been there. */
  readonly overlaps: readonly string[]
  /** Where a fence was not higher than the one before. */
  readonly fencesNotRisen: readonly string[]
}

/** Judges notes of the form `<who> <fence> in` and `<who> <fence> out`. */
export function judge(notes: readonly string[]): Verdict {
  const rounds: Record<string, number> = {}
  const overlaps: string[] = []
  const fencesNotRisen: string[] = []
  let inside: string | undefined
  let last = { who: '', fence: 0 }
  let turns = 0
  for (const note of notes) {
    const [who = '', text = '', what] = note.split(' ')
    const holder = `${who} ${text}`
    if (what === 'out') {
      if (inside !== holder) overlaps.push(`${note}, while ${inside ?? 'nobody'} was in`)
      inside = undefined
      continue
    }
    if (inside !== undefined) overlaps.push(`${note}, while ${inside} was in`)
    const fence = Number(text)
    if (!(fence > last.fence)) fencesNotRisen.push(`${note}, after ${last.who} with ${last.fence}`)
    if (last.who !== who) turns++
    rounds[who] = (rounds[who] ?? 0) + 1
    inside = holder
    last = { who, fence }
  }
  return { rounds, turns, overlaps, fencesNotRisen }
}
