// Every method of the classes that `@fly/sprites` exports, read from the classes themselves, so that none can be forgotten.
import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import * as sdk from '@fly/sprites';

type Class = new (...given: never[]) => object;

/** Static, and its address is fixed in the package: no other platform can serve it. */
const ELSEWHERE = 'SpritesClient.createToken()';
const foreign: readonly object[] = [Object.prototype, EventEmitter.prototype, Error.prototype];
const DIST = new URL('../../../node_modules/@fly/sprites/dist/', import.meta.url).pathname;

const isClass = (value: unknown): value is Class => typeof value === 'function' && /^class\b/.test(String(value));

function* prototypesOf(Known: Class): Generator<object> {
  let prototype: object | null = Known.prototype;
  while (prototype !== null && !foreign.includes(prototype)) {
    yield prototype;
    prototype = Object.getPrototypeOf(prototype);
  }
}

function ownMethods(of: object, skipped: readonly string[]): string[] {
  return Reflect.ownKeys(of)
    .map((key) => (key === Symbol.asyncIterator ? '@@asyncIterator' : String(key)))
    .filter((key) => !skipped.includes(key));
}

/** Lists `Class.method`, `Class.method()` for a static one, and `function()`. */
export function listMethods(): string[] {
  const found = Object.entries(sdk).flatMap(([name, value]) => {
    if (!isClass(value)) return typeof value === 'function' ? [`${name}()`] : [];
    const statics = ownMethods(value, ['length', 'name', 'prototype']).map((key) => `${name}.${key}()`);
    const methods = [...prototypesOf(value)].flatMap((prototype) => ownMethods(prototype, ['constructor']));
    return [...methods.map((key) => `${name}.${key}`), ...statics];
  });
  return [...new Set(found)].filter((name) => name !== ELSEWHERE);
}

/** The names of methods that the package's own types close to programs: other methods call them. */
export function listPrivate(): ReadonlySet<string> {
  const text = readdirSync(DIST)
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => readFileSync(DIST + name, 'utf8'));
  return new Set(
    text.flatMap((types) =>
      [...types.matchAll(/^ {4}(?:private|protected) (\w+)(?:<.*>)?[(;]/gm)].map(([, key]) => key ?? ''),
    ),
  );
}

/** Which methods have run since the last `clear`. From now on every call is seen. */
export function watchCalls(): Set<string> {
  const called = new Set<string>();
  const seen = new Set<object>();
  for (const value of Object.values<unknown>(sdk)) {
    if (!isClass(value)) continue;
    for (const prototype of prototypesOf(value)) {
      if (seen.has(prototype)) continue;
      seen.add(prototype);
      watchPrototype(prototype, called);
    }
  }
  return called;
}

function watchPrototype(prototype: object, called: Set<string>): void {
  for (const key of Reflect.ownKeys(prototype)) {
    const found = Reflect.getOwnPropertyDescriptor(prototype, key);
    if (found === undefined || key === 'constructor') continue;
    const name = key === Symbol.asyncIterator ? '@@asyncIterator' : String(key);
    const wrap = (run: (...given: unknown[]) => unknown) =>
      function (this: object, ...given: unknown[]) {
        called.add(`${this.constructor.name}.${name}`);
        return run.apply(this, given);
      };
    if (found.get !== undefined) Object.defineProperty(prototype, key, { ...found, get: wrap(found.get) });
    else if (typeof found.value === 'function')
      Object.defineProperty(prototype, key, { ...found, value: wrap(found.value) });
  }
}
