/** What one of several callers got, and after how many seconds. */
export interface Outcome {
  readonly answer: string
  readonly seconds: number
}

/** A timer may fire a fraction of a millisecond early. */
const slackMs = 5

/** Calls for several users at once, and returns what each got, the earliest first. */
export async function testConcurrency(
  process: (userId: string, productId: string) => Promise<string>,
  userIds: readonly string[],
): Promise<readonly Outcome[]> {
  const startedMs = performance.now()
  const outcomes: Outcome[] = []
  await Promise.all(
    userIds.map(async (userId) => {
      const answer = await process(userId, 'book').catch(({ message }: Error) => message)
      outcomes.push({ answer, seconds: Math.floor((performance.now() - startedMs + slackMs) / 1_000) })
    }),
  )
  return outcomes
}
