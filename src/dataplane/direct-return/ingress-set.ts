import { formatAddress } from '../../net/address.ts';
import type { DirectReturnNode } from '../../net/direct-return.ts';
import { frontendFamily, type Frontend } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { hashedClass, slotText } from '../ruleset/classid.ts';
import { elementsPerStatement } from '../limits.ts';
import { ingressChanges, ingressRemoval, ingressSkeleton, type IngressElement } from './ingress-script.ts';
import { pathCheckInterval } from './limits.ts';
import { kernelRefusal } from './kernel-refusal.ts';
import { SerialQueue } from '../../system/serial-queue.ts';

/** The port for the table of mode l2: lines of nft's language, all of them or none. Rejects with DataplaneError. */
export interface IngressTable {
  run(lines: readonly string[]): Promise<void>;
  /** Whether the kernel would take the lines. */
  check(lines: readonly string[]): Promise<void>;
  /** The table is there. */
  exists(): Promise<boolean>;
}

export interface IngressPorts {
  readonly ingress: IngressTable;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps the table of mode l2. It only makes shorter what the other tables do as well: wherever it is missing or behind, packets
 * take a route. So it follows the other tables, is made anew at every start, and its failures are told and hold nothing back.
 */
export class IngressSet {
  readonly #ports: IngressPorts;
  readonly #repaired: (what: string) => void;
  /** By frontendKey: elements of the kernel's, or of what it should have. */
  readonly #wanted = new Map<string, ReadonlyMap<string, IngressElement>>();
  /** By frontendKey, those that the kernel has; undefined: unknown. */
  #present: Map<string, ReadonlyMap<string, IngressElement>> | undefined;
  readonly #touched = new Set<string>();
  #skeleton: readonly string[] = [];
  #skeletonText = '';
  #begun = false;
  readonly #serial = new SerialQueue();
  #cancelCheck: (() => void) | undefined;
  #closed = false;

  constructor(ports: IngressPorts, repaired: (what: string) => void) {
    this.#ports = ports;
    this.#repaired = repaired;
  }

  setNode(node: DirectReturnNode | undefined): void {
    const used = node?.targets.some(({ ingress }) => ingress) === true && node.interfaces.length > 0;
    const skeleton = used ? ingressSkeleton(node.interfaces, node.linkAddresses) : [];
    const text = skeleton.join('\n');
    if (text === this.#skeletonText) return;
    this.#skeleton = skeleton;
    this.#skeletonText = text;
    this.#present = undefined;
  }

  /** Undefined: the frontend is gone. */
  setFrontend(key: string, frontend: Frontend | undefined): void {
    const elements = frontend === undefined ? [] : ingressElements(frontend);
    if (elements.length === 0 && !this.#wanted.has(key)) return;
    if (elements.length === 0) this.#wanted.delete(key);
    else this.#wanted.set(key, new Map(elements.map((element) => [`${element.map} ${element.key}`, element])));
    this.#touched.add(key);
  }

  /** Brings the kernel to what was set. Never rejects. */
  commit(): Promise<void> {
    const isDone = this.#present !== undefined && this.#touched.size === 0;
    return isDone ? Promise.resolve() : this.#serial.run(() => this.#commit());
  }

  /** Why frames cannot be handed over at these interfaces; undefined: they can. */
  probe(interfaces: readonly string[]): Promise<string | undefined> {
    return kernelRefusal(() => this.#ports.ingress.check(ingressSkeleton(interfaces, [])));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelCheck?.();
    await this.#serial.idle();
  }

  /** After `close`. */
  async remove(): Promise<void> {
    if (await this.#ports.ingress.exists()) await this.#ports.ingress.run(ingressRemoval());
  }

  async #commit(): Promise<void> {
    const { ingress, log } = this.#ports;
    try {
      if (this.#present === undefined) await this.#make();
      else if (this.#touched.size > 0) await this.#change(this.#present);
      this.#touched.clear();
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#present = undefined;
      log.warn({ error: error.message }, 'packets are not passed on at ingress: they take routes');
      await ingress.run(ingressRemoval()).catch(() => undefined);
    }
    this.#scheduleCheck();
  }

  async #make(): Promise<void> {
    const { ingress } = this.#ports;
    const nothingToDo = this.#skeleton.length === 0 && (this.#begun || !(await ingress.exists()));
    this.#begun = true;
    if (!nothingToDo) {
      const adds = this.#skeleton.length === 0 ? [] : [...this.#wanted.values()].flatMap((elements) => [...elements.values()]);
      await ingress.run([
        ...(this.#skeleton.length === 0 ? ingressRemoval() : this.#skeleton),
        ...ingressChanges([], adds, elementsPerStatement),
      ]);
    }
    this.#present = new Map(this.#wanted);
  }

  async #change(present: Map<string, ReadonlyMap<string, IngressElement>>): Promise<void> {
    const deletes: IngressElement[] = [];
    const adds: IngressElement[] = [];
    for (const key of this.#touched) {
      const [before, after] = [present.get(key) ?? new Map(), this.#wanted.get(key) ?? new Map<string, IngressElement>()];
      for (const [id, element] of before as ReadonlyMap<string, IngressElement>)
        if (after.get(id)?.value !== element.value) deletes.push(element);
      for (const [id, element] of after) if ((before.get(id) as IngressElement | undefined)?.value !== element.value) adds.push(element);
    }
    if (this.#skeleton.length > 0 && deletes.length + adds.length > 0)
      await this.#ports.ingress.run(ingressChanges(deletes, adds, elementsPerStatement));
    for (const key of this.#touched) {
      const after = this.#wanted.get(key);
      if (after === undefined) present.delete(key);
      else present.set(key, after);
    }
  }

  #scheduleCheck(): void {
    this.#cancelCheck?.();
    if (this.#closed || this.#skeleton.length === 0) return;
    this.#cancelCheck = this.#ports.clock.after(pathCheckInterval, () => {
      this.#serial
        .run(() => this.#check())
        .catch((error: unknown) => this.#ports.log.warn({ error: String(error) }, 'the table of ingress could not be checked'));
    });
  }

  async #check(): Promise<void> {
    if (this.#closed) return;
    const lost = this.#present !== undefined && !(await this.#ports.ingress.exists());
    if (lost) this.#present = undefined;
    await this.#commit();
    if (lost && this.#present !== undefined) this.#repaired('the table of ingress');
  }
}

/** None where no packet of the frontend is passed on at ingress. */
function ingressElements({ match, slots, backends, directReturn }: Frontend): IngressElement[] {
  if (directReturn === undefined || slots === undefined || match.kind !== 'address') return [];
  const family = frontendFamily(match);
  const key = `${formatAddress(match.address)} . ${match.protocol.toLowerCase()} . ${match.port}`;
  const nodes = backends.map(({ node, path: passing }) =>
    passing?.ingress === true && node !== undefined ? formatAddress(node) : undefined,
  );
  const elements: IngressElement[] = [];
  for (const [slot, index] of slots.backendOf.entries()) {
    const value = nodes[index];
    if (value !== undefined) elements.push({ map: `nodes${family}`, key: `${key} . ${slotText(slot)}`, value });
  }
  if (elements.length === 0) return [];
  return [{ map: `frontends${family}`, key, value: hashedClass(slots.hashed, slots.backendOf.length, true) }, ...elements];
}
