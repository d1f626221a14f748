import type { ReasonCode } from '../../../src/model/reasons.ts';
import type { HeraldInLab } from '../herald.ts';
import type { Lab } from '../lab.ts';
import type { Manifest } from './objects.ts';
import type { Place } from './place.ts';

/**
 * One mistake of a user, a router or a host, made for real in the lab, and what Herald must say of it. Service "web" in the namespace of the
 * case is judged. Clients reach it before the mistake, unless `before` lacks it or `isBrokenBefore` is set.
 */
export interface Misconfiguration {
  /** Unique, and valid as the name of a namespace. */
  readonly name: string;
  /** The mistake in one sentence, for the table of docs/reference/diagnosis.md. */
  readonly mistake: string;
  /** The code that the verdict, the condition, the Event and the metric carry. */
  readonly code: ReasonCode;
  /** The condition that carries the code. Absent: none does, because Herald has no say in the Service, or clients are served. */
  readonly condition?: 'AddressAssigned' | 'Programmed' | 'Announced';
  /** The condition is True all the same, because routers have routes to the address. */
  readonly isAnnounced?: true;
  /** `herald status --problems` does not list the Service: another program serves it, or its user switched announcing off. */
  readonly isIntended?: true;
  /** The first line of `herald explain service`. */
  readonly verdict: string;
  /** The manifests at first. By default a healthy Service. */
  readonly before?: (place: Place) => readonly Manifest[];
  readonly isBrokenBefore?: true;
  /** The manifests with the mistake. Absent: `act` makes it. */
  readonly after?: (place: Place) => readonly Manifest[];
  /** Prepares the lab for the case before any process starts. */
  readonly prepare?: (scene: Scene, place: Place) => Promise<void>;
  /** Makes a mistake that is not in a manifest. */
  readonly act?: (scene: Scene, place: Place) => Promise<void>;
  /** Undoes `act`, as the fix in the verdict says. */
  readonly undo?: (scene: Scene, place: Place) => Promise<void>;
}

/** The running lab in which a mistake is made. */
export interface Scene {
  readonly lab: Lab;
  readonly herald: HeraldInLab;
}
