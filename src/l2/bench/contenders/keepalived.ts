import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LabProcess } from '../../../../test/lab/lab-process.ts';
import { vip, vip6, type AgentsOnSegment } from '../../../../test/lab/l2-agents/agents-on-segment.ts';
import { buildStage, nodes, type Contender } from './contender.ts';
import { forwardToPod } from './forward-to-pod.ts';

const program = '/usr/sbin/keepalived';

/** keepalived with VRRP: one instance for each family, an advertisement every second (the default), the first node preferred. */
export class KeepalivedContender implements Contender {
  readonly name = 'keepalived';
  readonly lab: AgentsOnSegment;
  readonly #processes = new Map<number, LabProcess>();

  private constructor(lab: AgentsOnSegment) {
    this.lab = lab;
  }

  /** Returns why it cannot run here. */
  static missing(): string | undefined {
    return existsSync(program) ? undefined : 'keepalived is not installed (scripts/setup.sh keepalived=keepalived)';
  }

  static async start(): Promise<KeepalivedContender> {
    const lab = await buildStage();
    const contender = new KeepalivedContender(lab);
    try {
      for (const at of nodes) {
        await forwardToPod(lab, at);
        await writeFile(contender.#configuration(at), configuration(at), { mode: 0o600 });
        await contender.start(at);
      }
      return contender;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  start(at: number): Promise<void> {
    const pidFiles = ['--pid', '--vrrp_pid'].flatMap((option) => [option, join(this.lab.directory, `${at}${option}`)]);
    const command = [program, '--dont-fork', '--log-console', '--vrrp', '--use-file', this.#configuration(at), ...pidFiles];
    this.#processes.set(at, this.lab.spawn(at, `keepalived${at}`, command));
    return Promise.resolve();
  }

  process(at: number): LabProcess {
    const found = this.#processes.get(at);
    if (found === undefined) throw new Error(`no keepalived was started on node ${at}`);
    return found;
  }

  close(): Promise<void> {
    return this.lab.close();
  }

  #configuration(at: number): string {
    return join(this.lab.directory, `keepalived${at}.conf`);
  }
}

function configuration(at: number): string {
  const instance = (family: 4 | 6, address: string): string => `
vrrp_instance v${family} {
  state BACKUP
  interface v0
  virtual_router_id ${50 + family}
  priority ${150 - 10 * at}
  advert_int 1
  virtual_ipaddress {
    ${address} dev v0
  }
}
`;
  return `global_defs {\n  router_id n${at}\n}\n${instance(4, `${vip}/32`)}${instance(6, `${vip6}/128`)}`;
}
