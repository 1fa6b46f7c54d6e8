/** What an answer of ours says beyond its status: the end of its `type`. */
export type ProblemType =
  | 'key-missing'
  | 'key-invalid'
  | 'key-reused'
  | 'body-too-large'
  | 'body-too-slow'
  | 'in-progress'
  | 'in-doubt'
  | 'overtaken'
  | 'result-not-kept'
  | 'store-unavailable'
  | 'misconfigured'
  | 'work-failed'
