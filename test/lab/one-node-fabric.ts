import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

export interface OneNodeFabric {
  readonly lab: Lab;
  readonly herald: HeraldInLab;
  /** The addresses of Service shop/web, one of each family. */
  readonly addresses: readonly string[];
}

/** Starts the fabric of the examples with node1 alone, two ToRs and one pod, and waits until Service shop/web has its addresses. */
export async function startOneNodeFabric(): Promise<OneNodeFabric> {
  const lab = await Lab.start(standardTopology({ nodes: 1, pods: [{ name: 'web-1', node: 'node1' }] }));
  try {
    const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
    await herald.prolongHoldTimes();
    await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
    await herald.edit('10-cluster.yaml', (text) => text.replaceAll(/---\n(?:(?!---)[^])*name: node[23],(?:(?!---)[^])*/g, ''));
    await herald.start(['node1']);
    return { lab, herald, addresses: await herald.untilAssigned('shop/web', 2) };
  } catch (error) {
    await lab.stop();
    throw error;
  }
}
