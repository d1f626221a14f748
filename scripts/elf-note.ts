/**
 * Adds a note to a program in the ELF format, as Node.js reads its single executable applications
 * (https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html): a segment PT_NOTE with the name NODE_SEA_BLOB, which is also
 * loaded into memory.
 */

/** Offsets in the ELF header of 64 bits. */
const header = { class: 4, data: 5, phoff: 32, shoff: 40, phentsize: 54, phnum: 56, shnum: 60, shstrndx: 62 } as const;
/** Types of program headers. */
const type = { load: 1, note: 4, phdr: 6 } as const;
const readable = 4;
const entrySize = 56;
/** The largest page size of Linux on x86-64 and arm64. */
const pageSize = 65_536;

interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly address: number;
  readonly fileSize: number;
  readonly memorySize: number;
  readonly align: number;
}

/**
 * Returns the program with the note behind its last segment. Symbols and section headers, which only debuggers need, are left out. The table of
 * segments moves into the new segment, because there is no room to extend it in its place. Throws when the program is not a 64-bit,
 * little-endian ELF file.
 */
export function addNote(program: Buffer, name: string, content: Buffer): Buffer {
  if (program.toString('latin1', 0, 4) !== '\u007FELF' || program[header.class] !== 2 || program[header.data] !== 1)
    throw new Error('not an ELF program of 64 bits, little endian');
  const segments = readSegments(program);
  const loads = segments.filter((one) => one.type === type.load);
  const [first] = loads;
  if (first === undefined) throw new Error('the program has no segment to load');
  const end = Math.max(...loads.map(({ offset, fileSize }) => offset + fileSize));
  const endInMemory = Math.max(...loads.map(({ address, memorySize }) => address + memorySize));
  // Address minus offset is the same as in the first segment: Linux before 5.18 finds the table of a program by that difference.
  const difference = first.address - first.offset;
  const offset = roundUp(Math.max(end, endInMemory - difference), pageSize);
  const note = noteOf(name, content);
  const tableSize = (segments.length + 2) * entrySize;
  const noteOffset = offset + roundUp(tableSize, 8);
  const size = noteOffset + note.length - offset;
  const moved = segments.map((one) =>
    one.type === type.phdr ? { ...one, offset, address: offset + difference, fileSize: tableSize, memorySize: tableSize } : one,
  );
  const added = { flags: readable, address: offset + difference, fileSize: size, memorySize: size };
  const load: Segment = { ...added, type: type.load, offset, align: pageSize };
  const noteAddress = noteOffset + difference;
  const noted: Segment = {
    ...added,
    type: type.note,
    offset: noteOffset,
    address: noteAddress,
    fileSize: note.length,
    memorySize: note.length,
    align: 4,
  };
  // The segments to load must be in ascending order of their addresses.
  const lastLoad = moved.findLastIndex((one) => one.type === type.load);
  const table = [...moved.slice(0, lastLoad + 1), load, ...moved.slice(lastLoad + 1), noted];
  const result = Buffer.alloc(offset + size);
  program.copy(result, 0, 0, end);
  result.writeBigUInt64LE(BigInt(offset), header.phoff);
  result.writeUInt16LE(table.length, header.phnum);
  result.writeBigUInt64LE(0n, header.shoff);
  result.writeUInt16LE(0, header.shnum);
  result.writeUInt16LE(0, header.shstrndx);
  table.forEach((one, at) => writeSegment(result, offset + at * entrySize, one));
  note.copy(result, noteOffset);
  return result;
}

function readSegments(program: Buffer): Segment[] {
  const [table, count] = [Number(program.readBigUInt64LE(header.phoff)), program.readUInt16LE(header.phnum)];
  if (program.readUInt16LE(header.phentsize) !== entrySize) throw new Error('the table of segments has another entry size');
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * entrySize;
    const number = (place: number): number => Number(program.readBigUInt64LE(at + place));
    return {
      type: program.readUInt32LE(at),
      flags: program.readUInt32LE(at + 4),
      offset: number(8),
      address: number(16),
      fileSize: number(32),
      memorySize: number(40),
      align: number(48),
    };
  });
}

function writeSegment(program: Buffer, at: number, segment: Segment): void {
  program.writeUInt32LE(segment.type, at);
  program.writeUInt32LE(segment.flags, at + 4);
  const numbers = [segment.offset, segment.address, segment.address, segment.fileSize, segment.memorySize, segment.align];
  numbers.forEach((value, index) => program.writeBigUInt64LE(BigInt(value), at + 8 + index * 8));
}

/** Size of name, size of content, type, name, content: name and content are padded to four octets. */
function noteOf(name: string, content: Buffer): Buffer {
  const terminated = Buffer.from(`${name}\0`);
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(terminated.length, 0);
  sizes.writeUInt32LE(content.length, 4);
  return Buffer.concat([sizes, padded(terminated), padded(content)]);
}

function padded(part: Buffer): Buffer {
  return Buffer.concat([part, Buffer.alloc(roundUp(part.length, 4) - part.length)]);
}

function roundUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
