import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

/**
 * Fails a file of tests that leaves something behind in its process: a timer or another handle, a global, an environment variable, a listener or exit code
 * of the process, another working directory. Files of unit tests share a process, so the next file would fail in its place.
 */
interface State {
  /** Timers, sockets, servers, children, watchers: how many of each keep the process alive. */
  readonly handles: ReadonlyMap<string, number>;
  readonly globals: ReadonlyMap<string, unknown>;
  readonly variables: ReadonlyMap<string, unknown>;
  readonly listeners: ReadonlyMap<string, number>;
  readonly others: ReadonlyMap<string, unknown>;
}

/** Globals of libraries, which stay after the first file that loads them. */
const ofLibraries = new Set(['awslambda']);

const before = present();

afterAll(async () => {
  // A handle that was closed goes when the event loop comes to it. Timers of vitest itself are short.
  for (let pause = 1; pause < 2_000 && leftBehind().length > 0; pause *= 2) await sleep(pause);
  const left = leftBehind();
  if (left.length > 0) throw new Error(`this file leaves behind: ${left.join(', ')}`);
});

function leftBehind(): string[] {
  const after = present();
  return [
    ...[...after.handles].filter(([type, count]) => count > (before.handles.get(type) ?? 0)).map(([type, count]) => `${type} (${count})`),
    ...changed(before.globals, after.globals).map((name) => `global ${name}`),
    ...changed(before.variables, after.variables).map((name) => `environment variable ${name}`),
    ...changed(before.listeners, after.listeners).map((name) => `listener of process for ${name}`),
    ...changed(before.others, after.others),
  ];
}

function changed(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => !Object.is(before.get(name), after.get(name)));
}

function present(): State {
  const handles = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo()) handles.set(type, (handles.get(type) ?? 0) + 1);
  return {
    handles,
    globals: new Map(
      Object.getOwnPropertyNames(globalThis)
        .filter((name) => !ofLibraries.has(name))
        .map((name) => [name, propertyOf(name)]),
    ),
    variables: new Map(Object.entries(process.env)),
    listeners: new Map(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
    others: new Map<string, unknown>([
      ['working directory', process.cwd()],
      ['exit code', process.exitCode],
    ]),
  };
}

/** Returns the value of a global. Of one with a getter, which may make its value anew, only that it is there. */
function propertyOf(name: string): unknown {
  const property = Object.getOwnPropertyDescriptor(globalThis, name);
  return property?.get === undefined ? property?.value : 'a getter';
}
