import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long, because of waits of Herald, of programs that they start, or of the size of what they test. */
const longest = [
  ...['scale', 'agent-writes', 'first-installation', 'container', 'diagnosis', 'beside-kube-proxy', 'install'].map(
    (name) => `/test/conformance/${name}.test.ts`,
  ),
  ...['diagnosis', 'agent-restarts', 'l2-agents/handover', 'l2/ownership'].map((name) => `/test/lab/${name}.test.ts`),
  ...['frr', 'bfd-frr', 'bfd-bird'].map((name) => `/test/peers/${name}.test.ts`),
  ...[
    'cli/cli',
    'cli/program-bundle',
    'cli/bundle/bundle',
    'sim/leaders',
    'kube/reflector/reflector',
    'monitoring/alerts',
    'provider/broken',
  ].map((name) => `/test/unit/${name}.test.ts`),
  ...['schedule/idle-requests', 'observe/recorded-arns'].map((name) => `/providers/aws/test/${name}.test.ts`),
];

const rank = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((file) => moduleId.endsWith(file));
  return place < 0 ? longest.length : place;
};

/** Starts the longest files first, so that no worker is idle at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
