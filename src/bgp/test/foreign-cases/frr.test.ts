import { describe, expect, it } from 'vitest';
import { examine } from '../foreign/examine.ts';
import { frrCases, hasFrrSuite } from '../foreign/frr.ts';
import { suiteFolder } from './suite-folder.ts';

const table = (cases: string): string =>
  suiteFolder({ 'tests/topotests/bgp_rfc7606_x/cases.py': `"""A table."""\nUPDATE = 3\nOTHER = 9\n${cases}\n` });
const verdicts = (cases: string): [string, string, string][] =>
  frrCases(table(cases)).map((each) => {
    const { verdict, section, text } = examine(each);
    return [verdict, section, text];
  });

describe('tables of FRR for RFC 7606', () => {
  it('agrees where each kind of peer gets the expected treatment', () => {
    const rows = `CASES = number_variants([
      # A comment with "quotes" and (brackets
      Case("a", 1, 0x40, "03", outcome=WITHDRAW, spec="RFC 7606 section 7.1"),
      Case("b", 9, 0x80, "0a" "0000",
           outcome_ebgp=DISCARD, outcome_ebgp_oad=DISCARD, outcome_ibgp=WITHDRAW, spec="x"),
      Case("c", 14, 0x80, "000201" "09" "20010db80000000000" "00", outcome=SESSION_RESET),
      Case("d", None, 0, "", outcome=WITHDRAW, nexthop="127.0.0.1"),
    ])`;
    expect(verdicts(rows)).toEqual(Array.from({ length: 8 }, () => ['agrees', '', '']));
  });

  it('reports a treatment that no section explains, with the section of the table', () => {
    expect(verdicts('CASES = [Case("a", 1, 0x40, "00", outcome=WITHDRAW, spec="RFC 0000 section 1")]')).toEqual([
      ['deviates', 'RFC 0000 section 1', 'expected withdraw, found accepted'],
      ['deviates', 'RFC 0000 section 1', 'expected withdraw, found accepted'],
    ]);
  });

  it('compares the NOTIFICATION', () => {
    const rows = 'CASES = [Case("a", 14, 0x80, "0002010900", outcome=SESSION_RESET, skip_sorts=(IBGP,))]';
    const found = (code: string): unknown => verdicts(`${rows}\nEXPECTED_NOTIFICATION = {"a": (UPDATE, ${code}),}`);
    expect(found('OTHER')).toEqual([['agrees', '', '']]);
    expect(found('1')).toEqual([
      [
        'differs',
        'RFC 4760 7',
        'expected UPDATE Message Error: Malformed Attribute List (3/1), found UPDATE Message Error: Optional Attribute Error (3/9)',
      ],
    ]);
  });

  it.each([
    ['an unknown optional attribute', '"a", 200, 0xC0, "00", outcome=DISCARD', 'RFC 4271 5'],
    ['the Partial bit', '"a", 1, 0x60, "00", outcome=WITHDRAW', 'RFC 7606 3 (c)'],
    ['AS4_PATH between four-octet speakers', '"a", 17, 0xC0, "0001", outcome=WITHDRAW', 'RFC 6793 4.1'],
    ['ONLY_TO_CUSTOMER with AS 0', '"a", 35, 0xC0, "00000000", outcome=WITHDRAW', 'RFC 9234 5'],
  ])('explains the difference about %s', (_, row, section) => {
    expect(verdicts(`CASES = [Case(${row}, skip_sorts=(IBGP,))]`)).toMatchObject([
      ['differs', section, expect.stringContaining('expected')],
    ]);
  });

  it('throws for an argument, a value or an outcome that it does not know', () => {
    const read = (row: string) => (): unknown => frrCases(table(`CASES = [Case(${row})]`));
    expect(read('"a", 1, 0x40, "00", outcome=WITHDRAW, speed=1')).toThrow('cases.py:4: the argument speed has no meaning here');
    expect(read('"a", 1, 0x40, "00", outcome=IGNORE')).toThrow('the outcome "IGNORE" for EBGP has no meaning here');
    expect(read('"a", 1, 0x40, +')).toThrow('"+" is no value');
    expect(read('"a", 1, 0x40, "0", outcome=WITHDRAW')).toThrow('is no even number of hexadecimal digits');
    expect(() => frrCases(table('CASES = [Case("a", 1'))).toThrow('the file ends in the middle of a table');
  });

  it('finds no suite in another folder', () => {
    expect(hasFrrSuite(suiteFolder({ 'tests/topotests/bgp_other/cases.py': '' }))).toBe(false);
  });
});
