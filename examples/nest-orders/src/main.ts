/** A Nest application whose methods take locks. Read `orders/orders-v2.service.ts` first. */

import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.ts'
import { port, serverName } from './settings.ts'
import { UnavailableFilter } from './unavailable.filter.ts'

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] })
app.useGlobalFilters(new UnavailableFilter(app.getHttpAdapter()))
// So that SIGTERM ends it in order: running work is answered, and its locks are released.
app.enableShutdownHooks()
await app.listen(port, '127.0.0.1')
console.log(`${serverName} listens on ${await app.getUrl()}`)
