import type { ReasonCode } from '../../../src/model/reasons.ts';
import type { HeraldInLab } from '../herald.ts';
import type { Lab } from '../lab.ts';
import type { Manifest } from './objects.ts';
import type { Place } from './place.ts';

/** One mistake of a user, a router or a host, and how the lab makes it. */
export interface Mistake {
  /** Unique, and valid as the name of a namespace. */
  readonly name: string;
  /** The mistake in one sentence, for the tables of docs/reference/diagnosis.md. */
  readonly mistake: string;
  /** The code that every report of the mistake carries. */
  readonly code: ReasonCode;
  /** The manifests at first. By default a healthy Service. */
  readonly before?: (place: Place) => readonly Manifest[];
  /** The manifests with the mistake. Absent: `act` makes it. */
  readonly after?: (place: Place) => readonly Manifest[];
  /** Prepares the lab for the case before any process starts. */
  readonly prepare?: (scene: Scene, place: Place) => Promise<void>;
  /** Makes a mistake that is not in a manifest. */
  readonly act?: (scene: Scene, place: Place) => Promise<void>;
  /** Undoes `act`, as the fix in the verdict says. */
  readonly undo?: (scene: Scene, place: Place) => Promise<void>;
}

/**
 * A mistake that the verdict on a Service names. Service "web" in the namespace of the case is judged. Clients reach it before the mistake,
 * unless `before` lacks it or `isBrokenBefore` is set.
 */
export interface Misconfiguration extends Mistake {
  /** The condition that carries the code. Absent: none does, because Herald has no say in the Service, or clients are served. */
  readonly condition?: 'AddressAssigned' | 'Programmed' | 'Announced' | 'Answered';
  /** The condition is True all the same, because routers have routes to the address. */
  readonly isAnnounced?: true;
  /** `herald status --problems` does not list the Service: another program serves it, or its user switched announcing off. */
  readonly isIntended?: true;
  /** The first line of `herald explain service`. */
  readonly verdict: string;
  readonly isBrokenBefore?: true;
  /** The row of another object that has the same cause in `herald status --problems`. */
  readonly alsoSays?: { readonly object: string; readonly code: ReasonCode; readonly line: string };
}

/** A mistake in another object, which leaves Service "web" of the case as it was: clients reach it all the time. */
export interface ReportedProblem extends Mistake {
  /** The object of the row in `herald status --problems`: "IPAddressPool/public". */
  readonly object: (place: Place) => string;
  /** The sentences of that row. */
  readonly says: string;
}

/** The running lab in which a mistake is made. */
export interface Scene {
  readonly lab: Lab;
  readonly herald: HeraldInLab;
  /** The nodes on which an agent runs. */
  readonly nodes: readonly string[];
}
