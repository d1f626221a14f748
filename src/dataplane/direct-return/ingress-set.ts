import { formatAddress } from '../../net/address.ts';
import type { DirectReturnNode } from '../../net/direct-return.ts';
import { frontendFamily, type Frontend } from '../../net/frontend.ts';
import { DataplaneError } from '../dataplane.ts';
import { KernelSet, type KernelSetPorts } from '../kernel-set.ts';
import { directClass, slotText } from '../ruleset/classid.ts';
import { elementsPerStatement } from '../limits.ts';
import { ingressChanges, ingressRemoval, ingressSkeleton, type IngressElement } from './ingress-script.ts';
import { pathCheckInterval } from './limits.ts';
import { kernelRefusal } from './kernel-refusal.ts';

/** The port for the table of mode l2. It runs lines of nft's language as one transaction. Rejects with DataplaneError. */
export interface IngressTable {
  run(lines: readonly string[]): Promise<void>;
  /** Checks whether the kernel would accept the lines. */
  check(lines: readonly string[]): Promise<void>;
  /** Returns true if the table exists. */
  exists(): Promise<boolean>;
}

export interface IngressPorts extends KernelSetPorts {
  readonly ingress: IngressTable;
}

/**
 * Keeps the table of mode l2 in the kernel. The table is only a shortcut: where it is missing or out of date, packets take a route. So it
 * is updated after the other tables and created anew at every start. Its failures are logged and block nothing.
 */
export class IngressSet extends KernelSet<IngressPorts> {
  readonly #repaired: (what: string) => void;
  /** By frontendKey: the desired elements. */
  readonly #wanted = new Map<string, ReadonlyMap<string, IngressElement>>();
  /** By frontendKey: the elements that the kernel has. Undefined: unknown. */
  #present: Map<string, ReadonlyMap<string, IngressElement>> | undefined;
  readonly #touched = new Set<string>();
  #skeleton: readonly string[] = [];
  #skeletonText = '';
  #begun = false;

  constructor(ports: IngressPorts, repaired: (what: string) => void) {
    super(ports, { what: 'the ingress table', interval: pathCheckInterval, level: 'warn' });
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

  /** Sets the desired elements of a frontend. Undefined: the frontend is removed. */
  setFrontend(key: string, frontend: Frontend | undefined): void {
    const elements = frontend === undefined ? [] : ingressElements(frontend);
    if (elements.length === 0 && !this.#wanted.has(key)) return;
    if (elements.length === 0) this.#wanted.delete(key);
    else this.#wanted.set(key, new Map(elements.map((element) => [`${element.map} ${element.key}`, element])));
    this.#touched.add(key);
  }

  /** Brings the kernel to the desired state. Never rejects. */
  commit(): Promise<void> {
    const isDone = this.#present !== undefined && this.#touched.size === 0;
    return isDone ? Promise.resolve() : this.run(() => this.#commit());
  }

  /** Returns why frames cannot be forwarded at these interfaces. Undefined: they can. */
  probe(interfaces: readonly string[]): Promise<string | undefined> {
    return kernelRefusal(() => this.ports.ingress.check(ingressSkeleton(interfaces, [])));
  }

  /** Removes the table. Called after `close`. */
  async remove(): Promise<void> {
    if (await this.ports.ingress.exists()) await this.ports.ingress.run(ingressRemoval());
  }

  async #commit(): Promise<void> {
    const { ingress, log } = this.ports;
    try {
      if (this.#present === undefined) await this.#make();
      else if (this.#touched.size > 0) await this.#change(this.#present);
      this.#touched.clear();
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#present = undefined;
      log.warn({ error: error.message }, 'the ingress table could not be changed: packets take routes instead');
      await ingress.run(ingressRemoval()).catch(() => undefined);
    }
    this.scheduleNextCheck();
  }

  async #make(): Promise<void> {
    const { ingress } = this.ports;
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
      await this.ports.ingress.run(ingressChanges(deletes, adds, elementsPerStatement));
    for (const key of this.#touched) {
      const after = this.#wanted.get(key);
      if (after === undefined) present.delete(key);
      else present.set(key, after);
    }
  }

  protected override scheduleNextCheck(): void {
    this.cancelCheck();
    if (this.#skeleton.length > 0) this.scheduleCheck();
  }

  protected override async check(): Promise<void> {
    const lost = this.#present !== undefined && !(await this.ports.ingress.exists());
    if (lost) this.#present = undefined;
    await this.#commit();
    if (lost && this.#present !== undefined) this.#repaired('the ingress table');
  }
}

/** Returns the elements of a frontend: none if no packet of it is forwarded at ingress. */
function ingressElements({ match, slots, backends, directReturn }: Frontend): IngressElement[] {
  if (directReturn === undefined || slots === undefined || slots.hashed === 'destination' || match.kind !== 'address') return [];
  const family = frontendFamily(match);
  const key = `${formatAddress(match.address)} . ${match.protocol.toLowerCase()} . ${match.port}`;
  const nodes = backends.map(({ node, path }) => (path?.ingress === true && node !== undefined ? formatAddress(node) : undefined));
  const elements: IngressElement[] = [];
  for (const [slot, index] of slots.backendOf.entries()) {
    const value = nodes[index];
    if (value !== undefined) elements.push({ map: `nodes${family}`, key: `${key} . ${slotText(slot)}`, value });
  }
  if (elements.length === 0) return [];
  return [{ map: `frontends${family}`, key, value: directClass(slots.hashed, slots.backendOf.length) }, ...elements];
}
