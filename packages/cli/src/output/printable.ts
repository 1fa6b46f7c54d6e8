/**
 * Text from Redis made safe for a terminal. Anybody may name a key, and a name with an escape sequence could change
 * what the operator sees. So control characters, and those that reverse the direction of text, are shown as `\u001b`.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      const unit = character.charCodeAt(at).toString(16).padStart(4, '0')
      return `\\u${unit}`
    }).join(''),
  )
