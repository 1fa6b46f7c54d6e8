/**
 * Checks a handler's answer. For authors of adapters, because handlers in their frameworks usually answer in another
 * way.
 *
 * @throws TypeError for anything but a `Response`, of whichever realm
 */
export async function answerOf(answer: Response | Promise<Response>): Promise<Response> {
  const made = await answer
  const { status, arrayBuffer } = Object(made) as Partial<Response>
  if (typeof status === 'number' && typeof arrayBuffer === 'function') return made
  throw new TypeError('The handler must answer a Response, such as Response.json(...)')
}
