import type { ForeignForwarding, ForeignView } from '../../../../src/dataplane/foreign-forwarding.ts';

/** Another forwarding program whose rules the test writes. */
export class FakeForeign implements ForeignForwarding {
  view: ForeignView = { seen: false };
  readonly frontends = new Set<string>();
  started = false;
  #tell: (frontends: ReadonlySet<string> | undefined) => void = () => undefined;

  async start(): Promise<void> {
    this.started = true;
  }

  has(frontend: string): boolean {
    return this.frontends.has(frontend);
  }

  onChange(listener: (frontends: ReadonlySet<string> | undefined) => void): void {
    this.#tell = listener;
  }

  async stop(): Promise<void> {
    this.started = false;
  }

  appear(...frontends: readonly string[]): void {
    this.view = { seen: true, program: 'kube-proxy (nftables)', masqueradeBits: [14] };
    for (const frontend of frontends) this.frontends.add(frontend);
    this.#tell(undefined);
  }

  add(...frontends: readonly string[]): void {
    for (const frontend of frontends) this.frontends.add(frontend);
    this.#tell(new Set(frontends));
  }

  remove(...frontends: readonly string[]): void {
    for (const frontend of frontends) this.frontends.delete(frontend);
    this.#tell(new Set(frontends));
  }

  vanish(): void {
    this.view = { seen: false };
    this.frontends.clear();
    this.#tell(undefined);
  }
}
