import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { Bench } from './bench.ts';
import type { DaemonKind } from './daemon.ts';
import { receivedTests } from './received-tests.ts';
import { restartTests } from './restart-tests.ts';
import { routeTests } from './route-tests.ts';
import { sessionTests } from './session-tests.ts';
import { severalPathsTests } from './several-paths-tests.ts';

/** The tests that run with every daemon, over IPv4 and over IPv6. They check what the daemon shows. */
export function commonSuite(kind: DaemonKind): void {
  describe.each([4, 6] as const)(`${kind.name} over IPv%i`, (family) => {
    const bench = new Bench(kind, family);
    beforeAll(() => bench.open());
    afterAll(() => bench.close());
    afterEach(({ task }) => bench.clear(task.result?.state === 'fail'));
    routeTests(bench);
    severalPathsTests(bench);
    sessionTests(bench);
    restartTests(bench);
    receivedTests(bench);
  });
}
