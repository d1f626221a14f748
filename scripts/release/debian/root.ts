import { execFileSync } from 'node:child_process';
import { readTar } from '../files/read-tar.ts';
import { contentOf, directory, file, link, merge, type Tree } from '../files/tree.ts';
import { stanzaOf } from './package-lists.ts';

/** Documentation, translations and what only other programs of Debian read. Copyright notices must stay. */
const dropped =
  /^usr\/share\/(?!doc\/)(?:man|info|locale|lintian|bug|bash-completion|gdb|perl5|debconf|zsh)(?:\/|$)|^usr\/share\/doc\/[^/]+\/(?!copyright$)/;

/**
 * Returns the file system of the packages in these .deb files, with what their maintainer scripts would do: the scripts are not run, because
 * those of arm64 cannot run on amd64.
 */
export function debianRoot(packages: ReadonlyMap<string, string>): Tree {
  const tree: Tree = new Map();
  const stanzas: string[] = [];
  for (const [name, path] of packages) {
    const content = readTar(execFileSync('dpkg-deb', ['--fsys-tarfile', path], { maxBuffer: 2 ** 30 }));
    for (const each of content.keys()) if (dropped.test(each)) content.delete(each);
    try {
      merge(tree, content);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
    stanzas.push(installed(execFileSync('dpkg-deb', ['--field', path], { encoding: 'utf8' })));
  }
  // Scanners read the list of packages here.
  tree.set('var/lib/dpkg/status', file(stanzas.join('\n')));
  configure(tree);
  return tree;
}

function installed(control: string): string {
  const name = stanzaOf(control).get('Package') ?? '';
  return control.replace(`Package: ${name}\n`, `Package: ${name}\nStatus: install ok installed\n`);
}

const tables = ['iptables', 'ip6tables', 'arptables', 'ebtables'];
const authorities = 'usr/share/ca-certificates/';

/**
 * Does the work of the maintainer scripts that the image needs. ldconfig is not needed: all libraries are in the directories that the loader
 * searches without /etc/ld.so.cache.
 */
function configure(tree: Tree): void {
  // base-files
  for (const path of ['mnt', 'srv', 'opt', 'usr/local/bin', 'usr/local/lib', 'usr/local/sbin']) tree.set(path, directory());
  tree.set('var/run', link('/run'));
  tree.set('var/lock', link('/run/lock'));
  tree.set('run/lock', directory(0o1777));
  // base-passwd
  for (const name of ['passwd', 'group']) tree.set(`etc/${name}`, file(contentOf(tree, `usr/share/base-passwd/${name}.master`)));
  // libc-bin
  tree.set('etc/nsswitch.conf', file(contentOf(tree, 'usr/share/libc-bin/nsswitch.conf')));
  // iptables: the alternative of the highest priority.
  for (const table of tables) {
    for (const end of ['', '-restore', '-save']) {
      tree.set(`usr/sbin/${table}${end}`, link(`/etc/alternatives/${table}${end}`));
      tree.set(`etc/alternatives/${table}${end}`, link(`/usr/sbin/${table}-nft${end}`));
    }
  }
  // ca-certificates: all authorities in one file. The single files are left out, because nothing reads them.
  const certificates = [...tree.keys()].filter((path) => path.startsWith(authorities) && path.endsWith('.crt')).toSorted();
  const bundle = certificates.map((path) => `${contentOf(tree, path).toString('latin1').trimEnd()}\n`);
  for (const path of tree.keys()) if (path.startsWith(authorities)) tree.delete(path);
  tree.set('etc/ssl/certs/ca-certificates.crt', file(bundle.join('')));
}
