import { parse } from 'yaml'

/** The parts of a service that the tests read. */
export interface Service {
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string }
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports: readonly string[]
  readonly healthcheck: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly volumes?: readonly string[]
  readonly user?: string
  readonly restart: string
  readonly init: boolean
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly stop_grace_period: string
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

/**
 * A compose file with these variables set.
 *
 * @throws Error with the file's own words for a variable that it needs
 */
export function composeOf(yaml: string, variables: Readonly<Record<string, string>>): Compose {
  const compose = parse(yaml, { merge: true }) as Compose
  // Values only: a comment may name a variable as well.
  return JSON.parse(JSON.stringify(compose), (_, value: unknown) =>
    typeof value === 'string' ? interpolated(value, variables) : value,
  ) as Compose
}

const interpolated = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)(?::([-?])(.*?))?\}/g, (_, name: string, sign?: string, rest = '') => {
    const value = variables[name] || (sign === '-' ? rest : undefined)
    if (value === undefined) throw new Error(`${name}: ${rest}`)
    return value
  })
