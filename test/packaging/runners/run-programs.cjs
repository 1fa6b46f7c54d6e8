/*
 * Loads compiled programs as their format does, runs them side by side, and prints what each answered, or the code of the
 * error that it failed with. Arguments: their files, and where servers are, as JSON.
 */
const { basename } = require('node:path')
const { pathToFileURL } = require('node:url')

const [format, files, servers] = process.argv.slice(2)

async function run(file) {
  try {
    const { main } = format === 'cjs' ? require(file) : await import(pathToFileURL(file).href)
    return await main(JSON.parse(servers))
  } catch (error) {
    return error.code ?? String(error?.stack ?? error)
  }
}

async function runAll() {
  const answers = JSON.parse(files).map(async (file) => [basename(file, '.js'), await run(file)])
  console.log(JSON.stringify(Object.fromEntries(await Promise.all(answers))))
}

void runAll()
