/**
 * Leaves out fixes that recommend the command that prints them. `command` is that of the explained object: "herald explain peer tor1". The
 * explanation shows below what the fix promises.
 */
export function withoutSelfReference(lines: readonly string[], command: string): string[] {
  return lines.filter((line) => !(line.trimStart().startsWith('fix: ') && namesCommand(line, command)));
}

/** The name must end there: "tor1" is not "tor11". */
function namesCommand(line: string, command: string): boolean {
  const rests = line.split(command).slice(1);
  return rests.some((rest) => !/^[\w/.-]*\w/.test(rest));
}
