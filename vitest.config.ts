import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { leftOut } from './test/peers/tier.ts';
import { compileCache } from './test/support/compile-cache.ts';

/**
 * The condition `herald-source` resolves `herald/bgp` to the source, so that no dist/ is needed. The others are Vite's defaults without `module`: of the
 * AWS SDK it selects files for bundlers, which Node.js cannot load.
 */
const ssr = { resolve: { conditions: ['herald-source', 'node', 'development|production'] } };

/**
 * The programs that tests start are compiled once. Otherwise that takes three quarters of the processor time of a command that only prints, and half of that
 * of an agent.
 */
const compiledOnce = { NODE_COMPILE_CACHE: compileCache };

/** Tests of the core, and those of the packages beside their code. */
const unitTests = ['test/unit/**/*.test.ts', 'src/*/test/**/*.test.ts', 'providers/*/test/**/*.test.ts', 'console/test/**/*.test.ts'];
/** They need an emulator of AWS or Chromium. */
const otherSuites = ['providers/aws/test/moto/**', 'console/test/browser/**'];

/** Files with a process of their own: one reads V8's coverage of the code that it loads, one loads a program in Go that sets globals. */
const alone = ['src/bgp/test/wire/linear.test.ts', 'test/unit/house/workflows.test.ts'];
/** Adds the tables of the providers, as the start of the program does. */
const builtInProviders = 'test/support/built-in-providers.ts';
const setupFiles = ['test/support/property-setup.ts', builtInProviders, 'test/support/leaves-nothing.ts'];
const unit = {
  maxWorkers: 2,
  testTimeout: 90_000,
  hookTimeout: 90_000,
  env: compiledOnce,
};

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // Timeouts are long, so that a busy machine does not fail a test. A test that hangs fails after 90 s.
      // Two processes run all files one after the other, each module loaded once: a process for each file costs 0.4 s of processor time. `leaves-nothing`
      // fails a file that leaves something behind for the next one.
      { ssr, test: { ...unit, name: 'unit', include: unitTests, exclude: [...otherSuites, ...alone], isolate: false, setupFiles } },
      // Files that measure the process itself.
      { ssr, test: { ...unit, name: 'unit-alone', include: alone, setupFiles: setupFiles.slice(0, 1) } },
      // Labs with the kernel and routers, each in its own namespaces. They mostly wait, so more files run at once than there are cores, and they have long
      // timeouts because the machines are shared.
      {
        test: {
          name: 'lab',
          globalSetup: ['test/support/compile-herald.ts'],
          include: ['test/lab/**/*.test.ts'],
          maxWorkers: 3,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          env: compiledOnce,
        },
      },
      // Compares the kernel's tables with a fresh plan, in its own namespaces. Measures no times, so it can run beside other tests.
      { test: { name: 'model', include: ['test/model/**/*.test.ts'], testTimeout: 3_600_000, hookTimeout: 60_000 } },
      // Other BGP daemons, each in its own namespaces. Tests measure no times and mostly wait, so more files run at once than there are cores.
      {
        test: {
          name: 'peers',
          include: ['test/peers/**/*.test.ts'],
          exclude: [...leftOut],
          maxWorkers: 4,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          env: compiledOnce,
        },
      },
      // Each file has its own AWS emulator, so two files may run at once.
      {
        ssr,
        test: {
          name: 'aws',
          include: ['providers/aws/test/moto/**/*.test.ts'],
          exclude: ['providers/aws/test/moto/real/**'],
          setupFiles: ['providers/aws/test/moto/loopback-only.ts', builtInProviders],
          maxWorkers: 2,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      // The real AWS, which costs money. Runs only when HERALD_REAL_AWS names a VPC (providers/aws/test/moto/real/README.md).
      ...(process.env['HERALD_REAL_AWS'] === undefined
        ? []
        : [
            {
              ssr,
              test: {
                name: 'real-aws',
                include: ['providers/aws/test/moto/real/**/*.test.ts'],
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
          include: ['console/test/browser/**/*.test.ts'],
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
          setupFiles: [builtInProviders],
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
