#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Starting is mostly compiling. What was compiled is kept beside the dependencies, where only the user who installed
// the program can write; without that right nothing is kept. It has to be switched on before anything else is imported.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/ingester'));
const { run } = await import('./cli/run.ts');
// Everything is closed by then; a timer that the driver keeps for a lost connection must not hold the process.
process.exit(await run(process.argv));
