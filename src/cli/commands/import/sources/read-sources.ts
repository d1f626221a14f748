import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeObjects } from '../../../../sources/directory/raw-objects.ts';
import { readBounded } from '../../../../sources/directory/read-file.ts';
import { SourceError } from '../../../../sources/source.ts';
import { limits } from '../../../limits.ts';
import type { CommandContext } from '../../../context/command-context.ts';
import type { RawDocument } from './embedded.ts';
import { kubeProxyArguments } from './command-lines.ts';
import { isMarkdownName, markdownBlocks } from './markdown.ts';
import type { SourceDocument } from '../tools/tool.ts';
import { isTemplate, isTemplateName, mentionsTool, objectsInTemplate } from './templates.ts';

/** What was found in files, directories and standard input. */
export interface Sources {
  readonly documents: readonly RawDocument[];
  /** A line for each file that was not read, with the reason. */
  readonly unread: readonly string[];
  /** A line about configurations that were left out on purpose. */
  readonly notes?: readonly string[];
  /** Kind and name of objects in templates that could not be read. */
  readonly templates?: readonly SourceDocument[];
}

/**
 * Reads every document of files, directories and standard input ("-"), of any kind. Of Markdown it reads the blocks of YAML and JSON of a file that
 * is named; below a directory they may be examples, and one line names the files. Throws SourceError for a path that cannot be read. */
export async function readSources(context: CommandContext, paths: readonly string[]): Promise<Sources> {
  const documents: RawDocument[] = [];
  const unread: string[] = [];
  const inMarkdown: string[] = [];
  const templates: SourceDocument[] = [];
  const files = (await Array.fromAsync(paths, filesOf)).flat();
  const missing = files.length - limits.importFiles;
  if (missing > 0) unread.push(`${missing} files were not read: there are more than ${limits.importFiles}`);
  for (const file of files.slice(0, limits.importFiles)) {
    const read = file === '-' ? { kind: 'text' as const, text: await context.readInput() } : await readBounded(file);
    if (read.kind === 'gone') continue;
    if (read.kind === 'unreadable') unread.push(`${file} ${read.message}`);
    else if (!isMarkdownName(file)) add(file === '-' ? 'standard input' : file, read.text);
    else if (paths.includes(file)) add(file, markdownBlocks(read.text));
    else if (mentionsTool(markdownBlocks(read.text))) inMarkdown.push(file);
  }
  return { documents, unread, notes: noteOfMarkdown(inMarkdown), templates };

  function add(file: string, text: string): void {
    if (isTemplateName(file) || (isTemplate(text) && hasLogic(text))) return leaveOut(file, text);
    const { words, line } = kubeProxyArguments(text);
    if (words.length > 0) documents.push({ raw: { 'kube-proxy-arg': words }, where: `${file}:${line}` });
    const { objects, problems } = decodeObjects(file, text);
    const [first] = problems;
    if (first !== undefined && isTemplate(text)) return leaveOut(file, text);
    if (first !== undefined && words.length === 0 && mentionsTool(text)) unread.push(`${file}:${first.line ?? 1} is ${first.message}`);
    if (documents.length + objects.length > limits.importDocuments)
      unread.push(`${file} was not read: there are more than ${limits.importDocuments} documents`);
    else documents.push(...objects);
  }

  function leaveOut(file: string, text: string): void {
    if (!mentionsTool(text)) return;
    unread.push(`${file} is a template: render it first`);
    templates.push(...objectsInTemplate(text).map((one) => ({ ...one, where: file })));
  }
}

function noteOfMarkdown(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  const named = files.slice(0, namedFiles).join(', ');
  const more = files.length > namedFiles ? ` and ${files.length - namedFiles} more files` : '';
  return [
    `blocks of YAML in Markdown are not read below a directory, because they may be examples: ${named}${more} (name the file to read it)`,
  ];
}

const namedFiles = 3;

/** True for blocks of Helm or Jinja, whose documents depend on values. A placeholder inside of a text is looked at where it is. */
const hasLogic = (text: string): boolean => /^\s*(?:#\s*)?\{[{%]-?\s*(?:if|range|with|for|define|include|template|set|end)/m.test(text);

const isManifest = (name: string): boolean => /\.(?:ya?ml|json)$/.test(name) || isTemplateName(name);

async function filesOf(path: string): Promise<readonly string[]> {
  if (path === '-') return ['-'];
  const found = await stat(path).catch((error: unknown) => error as NodeJS.ErrnoException);
  if (found instanceof Error) throw new SourceError('unreadable', `${path} cannot be read: ${found.code ?? ''}`, { cause: found });
  return found.isDirectory() ? below(path, limits.importDepth) : [path];
}

/** Returns the files below a folder in the order of their names. Links, and folders whose name begins with a dot, are left out. */
async function below(folder: string, levels: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new SourceError('unreadable', `${folder} cannot be read: ${(error as NodeJS.ErrnoException).code ?? ''}`, { cause: error });
  });
  const files: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || files.length > limits.importFiles) continue;
    const path = join(folder, entry.name);
    if (entry.isFile() && (isManifest(entry.name) || isMarkdownName(entry.name))) files.push(path);
    else if (entry.isDirectory() && entry.name !== 'node_modules' && levels > 0) files.push(...(await below(path, levels - 1)));
  }
  return files;
}
