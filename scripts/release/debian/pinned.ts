import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The architectures of the image, as Debian, Go and OCI name them. */
export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** A package of Debian that is in the image: exactly this file. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  readonly source: string;
  /** "debian" or "debian-security". */
  readonly archive: string;
  /** Where the file is below the archive. */
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
}

/** What debian/update.ts writes into packages.json. The same commit has the same file, and so the same image. */
export interface PinnedPackages {
  readonly release: string;
  /** The time of the newest list, by which snapshot.debian.org finds the files when mirrors have newer ones. */
  readonly snapshot: string;
  readonly packages: Readonly<Record<Architecture, readonly PinnedPackage[]>>;
}

export const pinnedFile = join(import.meta.dirname, 'packages.json');

export function readPinned(): PinnedPackages {
  return JSON.parse(readFileSync(pinnedFile, 'utf8')) as PinnedPackages;
}

/** Where Debian keeps this file for good. */
export function snapshotOf({ archive, file }: PinnedPackage, snapshot: string): string {
  return `http://snapshot.debian.org/archive/${archive}/${snapshot.replaceAll(/[-:]/g, '')}/${file}`;
}

/** The package as a purl (https://github.com/package-url/purl-spec). */
export function purlOf({ name, version, source }: PinnedPackage, architecture: Architecture, release: string): string {
  const upstream = source === name ? '' : `&upstream=${encodeURIComponent(source)}`;
  return `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${release}${upstream}`;
}

/** The packages of which the image consists; their dependencies follow. */
export const roots: Readonly<Record<string, string>> = {
  'base-files': 'the directories of Debian',
  'base-passwd': 'the names of users and groups',
  'ca-certificates': 'certificate authorities',
  conntrack: 'the counters of connection tracking in a bug report',
  coreutils: 'readlink and dirname, with which bin/herald finds itself',
  dash: 'the shell of bin/herald',
  iproute2: 'the tunnels and rules of direct server return',
  ipset: 'removal of the rules of kube-proxy',
  iptables: 'the rules of kube-proxy and of network plugins',
  ipvsadm: 'removal of the rules of kube-proxy',
  'libc-bin': 'the order in which names are looked up',
  'libstdc++6': 'Node.js needs it',
  nftables: 'the filters of other programs, and the frames of direct server return',
};

/** Packages that are left out although others depend on them, with the reason. */
export const leftOut: Readonly<Record<string, string>> = {
  awk: 'base-files needs it for scripts at login',
  debconf: 'only maintainer scripts ask questions',
  'init-system-helpers': 'no service is started in the image',
  openssl: 'ca-certificates makes hashed links with it, which nothing in the image reads',
};
