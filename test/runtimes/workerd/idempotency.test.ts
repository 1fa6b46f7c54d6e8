/* What the package claims of itself on Node, claimed of it in workerd. */
import '../../../packages/idempotency/src/idempotent.test.ts'
import '../../../packages/idempotency/src/answer-run.test.ts'
