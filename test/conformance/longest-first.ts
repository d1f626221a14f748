import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes, because of waits of Herald or of the size of what they test. */
const longest = ['scale', 'agent-writes', 'first-installation', 'container', 'diagnosis', 'beside-kube-proxy', 'install'];

const rank = ({ project, moduleId }: TestSpecification): number => {
  const place = project.name === 'conformance' ? longest.findIndex((name) => moduleId.endsWith(`/test/conformance/${name}.test.ts`)) : -1;
  return place < 0 ? longest.length : place;
};

/** Starts the longest files of conformance first, so that no worker is idle at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
