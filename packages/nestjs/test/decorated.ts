import 'reflect-metadata'

type Decorator = (target: never, name: string, descriptor: never) => void

/** Decorates as compiled code does: Vitest does not compile decorators. The first decorator is the topmost. */
export function decorate(
  type: abstract new (...args: never[]) => object,
  name: string,
  ...decorators: Decorator[]
): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name) as PropertyDescriptor
  const decorated = Reflect.decorate(decorators as MethodDecorator[], type.prototype, name, descriptor)
  Object.defineProperty(type.prototype, name, decorated as PropertyDescriptor)
}
