import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] })
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  console.log(`listens on ${await app.getUrl()}`)
}
void main()
