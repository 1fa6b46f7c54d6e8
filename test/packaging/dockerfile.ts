export interface Instruction {
  /** Such as `RUN`. */
  readonly name: string
  readonly text: string
}

/** The instructions below one `FROM`. */
export interface Stage {
  readonly name: string
  readonly from: string
  readonly instructions: readonly Instruction[]
}

/** The stages of a Dockerfile without line continuations, each with a name. @throws Error for any other. */
export function stagesOf(dockerfile: string): readonly Stage[] {
  const stages: { name: string; from: string; instructions: Instruction[] }[] = []
  for (const line of dockerfile.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, text] = /^([A-Z]+) (.*[^\\])$/.exec(line) ?? []
    const [, from, stage] = /^FROM (\S+) AS (\S+)$/.exec(line) ?? []
    if (from && stage) stages.push({ name: stage, from, instructions: [] })
    else if (name && name !== 'FROM' && text) stages.at(-1)?.instructions.push({ name, text })
    else throw new Error(`Cannot read this line of the Dockerfile: ${line}`)
  }
  return stages
}

/** The texts of an instruction in a stage, including those of the stages that it is built from. */
export function textsOf(stages: readonly Stage[], stage: string, name: string): readonly string[] {
  const found = stages.find((each) => each.name === stage)
  if (!found) return []
  const own = found.instructions.filter((each) => each.name === name).map(({ text }) => text)
  return [...textsOf(stages, found.from, name), ...own]
}
