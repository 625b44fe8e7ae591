// npm run build [folder]: the program as it is shipped, into dist/program unless another folder is named. The variable
// COMMIT says what it is built from.
import { join, resolve } from 'node:path';
import { buildProgram } from './program.ts';

const root = join(import.meta.dirname, '../..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/program'));
await buildProgram(folder, process.env['COMMIT']);
process.stdout.write(`${folder}\n`);
