// The version after this one: the same program with one migration more, which older ones do not suit.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalImage } from '../../hack/local/node/image-table.ts';
import { ingesterImage } from '../../hack/local/node/images.ts';
import { CodedError } from '../../src/base/errors.ts';

const root = join(import.meta.dirname, '../..');

export interface NextVersion {
  /** Stands for michelangelo-ingester:next. */
  readonly image: LocalImage;
  /** Number of its newest migration. */
  readonly schema: number;
  remove(): void;
}

export function makeNextVersion(): NextVersion {
  const folder = mkdtempSync(join(tmpdir(), 'next-version-'));
  for (const part of ['src', 'webhooks', 'schema', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const numbers = readdirSync(join(folder, 'schema/migrations')).map((name) =>
    Number(/^(\d{4})-/.exec(name)?.[1] ?? 0),
  );
  const schema = Math.max(...numbers) + 1;
  const header = `-- minReader: ${schema}\n-- minWriter: ${schema}\n-- gate: closed\n`;
  const name = `${String(schema).padStart(4, '0')}-next.sql`;
  writeFileSync(
    join(folder, 'schema/migrations', name),
    `${header}\nCREATE TABLE IF NOT EXISTS \`ingester_next\` (\`id\` INT NOT NULL, PRIMARY KEY (\`id\`));\n`,
  );
  raiseSupported(join(folder, 'src/storage/schema-range.ts'), schema);
  return {
    image: ingesterImage(join(folder, 'bin'), { tag: ':next', program: join(folder, 'src/main.ts') }),
    schema,
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function raiseSupported(file: string, schema: number): void {
  const source = readFileSync(file, 'utf8');
  const raised = source.replace(/(supportedSchema: SupportedSchema = \{ version: )\d+/, `$1${schema}`);
  if (raised === source) throw new CodedError('TEST_SETUP', `${file} has no supportedSchema`);
  writeFileSync(file, raised);
}
