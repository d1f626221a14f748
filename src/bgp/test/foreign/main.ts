import { existsSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { exabgpCases, hasExabgpSuite } from './exabgp.ts';
import { examine, type Finding } from './examine.ts';
import { ForeignSuiteError, type ForeignCase } from './foreign-case.ts';
import { frrCases, hasFrrSuite } from './frr.ts';

const help = `npm run test:foreign -- DIR...

  Decodes the messages of public test suites with the BGP codec of this repository and lists each difference with the section of the RFC
  that decides it. DIR is a checkout that you provide; nothing is downloaded. These suites are read:

    ExaBGP   qa/encoding/*.ci and qa/decoding/*            (https://github.com/Exa-Networks/exabgp)
    FRR      tests/topotests/bgp_rfc7606_*/cases.py        (https://github.com/FRRouting/frr, its master branch)

  --json      prints JSON
  --help      prints this text

  Exit status: 0 all messages agree, or an RFC demands the difference; 1 a deviation; 2 no suite could be read; 64 a wrong command line.`;

/** Prints a reason and ends with an exit status. */
function fail(status: number, reason: string): never {
  process.stderr.write(`test:foreign: ${reason}\n`);
  process.exit(status);
}

function commandLine(): { readonly directories: readonly string[]; readonly json: boolean } {
  try {
    const { values, positionals } = parseArgs({
      options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    if (values.help) {
      console.log(help);
      process.exit();
    }
    if (positionals.length === 0)
      fail(64, 'DIR is missing: name a checkout of ExaBGP or FRR, for example `npm run test:foreign -- ~/src/exabgp`');
    return { directories: positionals, json: values.json };
  } catch (error) {
    fail(64, `${(error as Error).message}\n${help}`);
  }
}

function casesIn(directory: string): ForeignCase[] {
  if (!existsSync(directory) || !statSync(directory).isDirectory()) fail(2, `${directory} is no directory`);
  const cases = [...(hasExabgpSuite(directory) ? exabgpCases(directory) : []), ...(hasFrrSuite(directory) ? frrCases(directory) : [])];
  if (cases.length === 0) fail(2, `${directory} has no qa/encoding or qa/decoding (ExaBGP) and no tests/topotests/bgp_rfc7606_* (FRR)`);
  return cases;
}

function report(findings: readonly Finding[]): string {
  const lines: string[] = [];
  const reasons = Map.groupBy(
    findings.filter(({ verdict }) => verdict === 'differs'),
    ({ section, why }) => `${section}: ${why}`,
  );
  for (const [reason, alike] of reasons)
    lines.push(`differs   ${reason}`, ...alike.map(({ of, text }) => `    ${of.suite} ${of.name}: ${text}`), '');
  for (const { verdict, of, text, section } of findings) {
    if (verdict === 'deviates')
      lines.push(`deviates  ${section}`, `    ${of.suite} ${of.name}: ${text}`, `    ${Buffer.from(of.bytes).toString('hex')}`, '');
  }
  for (const [suite, ofSuite] of Map.groupBy(findings, ({ of }) => of.suite)) {
    const count = (verdict: Finding['verdict']): number => ofSuite.filter((each) => each.verdict === verdict).length;
    lines.push(
      `${suite}: ${ofSuite.length} messages, ${count('agrees')} agree, ${count('differs')} differ as an RFC demands or allows, ${count('deviates')} deviate`,
    );
  }
  return lines.join('\n');
}

const { directories, json } = commandLine();
try {
  const findings = directories.flatMap(casesIn).map(examine);
  const plain = findings.map(({ of, verdict, text, section, why }) => ({ suite: of.suite, name: of.name, verdict, section, text, why }));
  console.log(json ? JSON.stringify(plain, undefined, 1) : report(findings));
  process.exitCode = findings.some(({ verdict }) => verdict === 'deviates') ? 1 : 0;
} catch (error) {
  if (!(error instanceof ForeignSuiteError)) throw error;
  fail(2, error.message);
}
