import type { PinnedPackages } from './debian/pinned.ts';
import type { LockedPackage } from './npm/lock-file.ts';

/** What all parts of a release need to know. */
export interface Release {
  readonly version: string;
  readonly commit: string;
  /** The time of the commit. */
  readonly created: Date;
  /** The files of the commit, with the version of the release. */
  readonly sources: string;
  /** A folder for files on the way. */
  readonly scratch: string;
  readonly locked: readonly LockedPackage[];
  /** What is installed in node_modules. */
  readonly installed: readonly LockedPackage[];
  readonly pinned: PinnedPackages;
  readonly addresses: Addresses;
}

/** Where the release will be published. The files contain these addresses. */
export interface Addresses {
  /** The repository of the image, without a tag: registry.example/herald. */
  readonly image: string;
  /** The folder from which krew downloads the plugin. */
  readonly download: string;
  /** The repository of the sources. */
  readonly source: string;
  /** Identifies the machine that builds, in the provenance. */
  readonly builder: string;
  readonly homepage: string;
}

/** Files of the release by name. */
export type Artifacts = Map<string, Buffer>;
