import type { LabProcess } from '../../../../test/lab/lab-process.ts';
import { documents, heraldConfig } from '../../../../test/lab/host/objects.ts';
import type { AgentsOnSegment } from '../../../../test/lab/l2-agents/agents-on-segment.ts';
import { nodeManifest, nodeName } from '../../../../test/lab/l2-agents/manifests.ts';
import { buildStage, nodes, type Contender } from './contender.ts';

/** Herald: a controller and three agents that read a directory. */
export class HeraldContender implements Contender {
  readonly name = 'Herald';
  readonly lab: AgentsOnSegment;

  private constructor(lab: AgentsOnSegment) {
    this.lab = lab;
  }

  static async start(): Promise<HeraldContender> {
    const lab = await buildStage();
    const herald = new HeraldContender(lab);
    try {
      lab.startController();
      await Promise.all(nodes.map((at) => herald.start(at)));
      return herald;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  async start(at: number): Promise<void> {
    await this.lab.startAgent(at);
  }

  process(at: number): LabProcess {
    return this.lab.agent(at);
  }

  /** Requests the drain of one node, or of none. */
  async drain(drained: number | undefined): Promise<void> {
    const manifests = nodes.map((at) => {
      const annotations = at === drained ? { 'herald.dev/drain': 'true' } : {};
      return nodeManifest(at, { metadata: { name: nodeName(at), annotations } });
    });
    await this.lab.write('10-nodes.yaml', documents(heraldConfig(this.lab.config), ...manifests));
  }

  close(): Promise<void> {
    return this.lab.close();
  }
}
