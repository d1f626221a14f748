import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/conformance/longest-first.ts';

/**
 * The condition `herald-source` resolves `herald/bgp` to the source, so that no dist/ is needed. The others are Vite's defaults without `module`: of the
 * AWS SDK it selects files for bundlers, which Node.js cannot load.
 */
const ssr = { resolve: { conditions: ['herald-source', 'node', 'development|production'] } };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // Timeouts are long, so that a busy machine does not fail a test. A test that hangs fails after 90 s.
      {
        ssr,
        test: {
          name: 'unit',
          setupFiles: ['test/support/property-setup.ts'],
          include: ['test/unit/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 90_000,
          hookTimeout: 90_000,
          // The programs that tests start are compiled once. Otherwise that takes three quarters of the processor time of a command that only prints.
          env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled') },
        },
      },
      // Labs with the kernel and routers, each in its own namespaces. They mostly wait, so two files run at once, and they have long timeouts because the
      // machines are shared.
      {
        test: {
          name: 'lab',
          include: ['test/lab/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      // Compares the kernel's tables with a fresh plan, in its own namespaces. Measures no times, so it can run beside other tests.
      { test: { name: 'model', include: ['test/model/**/*.test.ts'], testTimeout: 3_600_000, hookTimeout: 60_000 } },
      // Other BGP daemons, each in its own namespaces. Tests measure no times, so two files may run at once.
      {
        test: {
          name: 'peers',
          include: ['test/peers/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      // Each file has its own AWS emulator, so two files may run at once.
      {
        ssr,
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
      // The real AWS, which costs money. Runs only when HERALD_REAL_AWS names a VPC (test/aws/real/README.md).
      ...(process.env['HERALD_REAL_AWS'] === undefined
        ? []
        : [
            {
              ssr,
              test: {
                name: 'real-aws',
                include: ['test/aws/real/**/*.test.ts'],
                fileParallelism: false,
                testTimeout: 3_600_000,
                hookTimeout: 600_000,
              },
            },
          ]),
      // Follows the pages of the documentation, two at a time, each in its own environment.
      {
        test: {
          name: 'docs',
          include: ['test/docs/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 900_000,
          hookTimeout: 600_000,
        },
      },
      // The page of the console in Chromium, over a lab with routers.
      {
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          fileParallelism: false,
          maxWorkers: 1,
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      // Builds a release twice, which takes minutes.
      {
        test: {
          name: 'release',
          include: ['test/release/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      // Programs of Kubernetes, which files share (keeper.ts). A file needs half a gigabyte of memory.
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: ['test/conformance/keeper.ts'],
          maxWorkers: 2,
          env: { HERALD_TEST_PATIENCE: '280000' },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      // Clusters with kubelets and containers. Each file has its own cluster, and test/cluster/main.ts runs the files.
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          fileParallelism: false,
          maxWorkers: 1,
          testTimeout: 900_000,
          hookTimeout: 1_800_000,
        },
      },
    ],
  },
});
