/* The package's own tests on Node, run in workerd. */
import '../../../packages/idempotency/src/idempotent.test.ts'
import '../../../packages/idempotency/src/answer-run.test.ts'
