import { describe, expect, test } from 'vitest'
import { snippetsOf } from './snippets.ts'

const page = `# Title

\`\`\`ts run
const a = 1
console.log(a) // prints: 1
\`\`\`

Then \`b\`:

\`\`\`ts continues
const b = a
\`\`\`

\`\`\`sh
npm install
\`\`\`

\`\`\`ts ignore the package is not published yet
import 'x'
\`\`\`
`

describe('the snippets of a page', () => {
  const [first, second, third] = snippetsOf('README.md', page)

  test('stand at the lines of the page', () => {
    expect(first?.place).toBe('README.md:3')
    expect(first?.program.split('\n')[3]).toBe('const a = 1')
  })

  test('say what they print and whether they run, and how', () => {
    expect(first).toMatchObject({ runs: true, tests: false, prints: ['1'] })
    expect(second).toMatchObject({ runs: false, tests: false, prints: [] })
    expect(snippetsOf('README.md', page.replace('ts run', 'ts test'))[0]).toMatchObject({ runs: false, tests: true })
  })

  test('may continue the one before', () => {
    expect(second?.program.split('\n')[3]).toBe('const a = 1')
    expect(second?.program.split('\n')[10]).toBe('const b = a')
  })

  test('are ignored only with a reason', () => {
    expect(third?.ignored).toBe('the package is not published yet')
    expect(() => snippetsOf('README.md', page.replace(/ignore .*/, 'ignore'))).toThrow(
      'README.md:18: say after "ignore"',
    )
  })

  test('do not escape the check by another name', () => {
    expect(() => snippetsOf('README.md', page.replace('ts run', 'typescript'))).toThrow('call the language "ts"')
    expect(() => snippetsOf('README.md', page.replace('ts run', 'ts nocheck'))).toThrow('"nocheck" is not a mode')
  })
})
