import { defineConfig } from 'vitest/config';

/** In the repository `herald/bgp` is the source, there need be no dist/. The other conditions are Vite's defaults. */
const ssr = { resolve: { conditions: ['herald-source', 'module', 'node', 'development|production'] } };

export default defineConfig({
  test: {
    projects: [
      // A test that hangs is caught as well after a minute and a half, and a busy machine is no failure.
      { ssr, test: { name: 'unit', include: ['test/unit/**/*.test.ts'], maxWorkers: 2, testTimeout: 90_000, hookTimeout: 90_000 } },
      // Kernel and routers: one lab at a time, and generous bounds, because these machines are shared.
      {
        test: {
          name: 'lab',
          include: ['test/lab/**/*.test.ts'],
          fileParallelism: false,
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      // The kernel's tables against a plan from nothing, in namespaces of its own: nothing is timed, so that it runs beside other tests.
      { test: { name: 'model', include: ['test/model/**/*.test.ts'], testTimeout: 3_600_000, hookTimeout: 60_000 } },
      // Other BGP daemons, each with namespaces of its own; nothing is timed, so that two may share a machine.
      {
        test: {
          name: 'peers',
          include: ['test/peers/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      // Each file has an emulator of AWS of its own; two share a machine.
      {
        test: {
          name: 'aws',
          include: ['test/aws/**/*.test.ts'],
          exclude: ['test/aws/real/**'],
          setupFiles: ['test/aws/loopback-only.ts'],
          maxWorkers: 2,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      // The real AWS, which costs money: only by hand, where HERALD_REAL_AWS names a VPC (test/aws/real/README.md).
      ...(process.env['HERALD_REAL_AWS'] === undefined
        ? []
        : [
            {
              test: {
                name: 'real-aws',
                include: ['test/aws/real/**/*.test.ts'],
                fileParallelism: false,
                testTimeout: 3_600_000,
                hookTimeout: 600_000,
              },
            },
          ]),
      // What the documentation says, done. Two pages at a time, each in a bed of its own.
      {
        test: {
          name: 'docs',
          include: ['test/docs/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 900_000,
          hookTimeout: 600_000,
        },
      },
      // Programs of Kubernetes: what a file starts needs half a gigabyte, so one file at a time.
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          fileParallelism: false,
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
