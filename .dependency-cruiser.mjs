// Which folder may import which. This table is the rule; docs/architecture.md explains it.
const mayImport = {
  base: [],
  api: ['base'],
  kinds: ['base', 'api'],
  metrics: ['base'],
  tracing: ['base', 'metrics'],
  config: ['base', 'api', 'kinds'],
  proto: ['base', 'api'],
  kube: ['base', 'api'],
  storage: ['base', 'api', 'kinds'],
  runtime: ['base', 'api', 'kube'],
  gitops: ['base', 'api', 'kinds', 'kube'],
  sync: ['base', 'api', 'kinds', 'metrics', 'proto', 'kube', 'runtime', 'storage', 'gitops'],
  lifecycle: ['base', 'api', 'metrics', 'kube', 'runtime', 'storage'],
  query: ['base', 'api', 'kinds', 'kube', 'storage', 'gitops'],
};

/** Rooms of a folder: each may import those before it, and what lies in the folder itself. */
const rooms = {
  'storage/mysql': ['schema', 'read', 'store', 'tasks'],
  lifecycle: ['plan', 'children', 'reconcile'],
  sync: ['admission', 'uninstall', 'flows', 'status', 'startup', 'eviction', 'audit'],
  app: ['reconciler', 'webhook', 'query', 'lifecycle', 'commands'],
};

/** A library that only one place may import, types included. */
const ownedLibraries = {
  mysql2: '^src/storage/mysql/',
  '@kubernetes/client-node': '^src/kube/http/',
  undici: '^src/kube/http/',
  express: '^(webhooks|src/query)/',
  pino: '^src/base/logger\\.ts$',
  'prom-client': '^src/(metrics/|app/health\\.ts)',
  zod: '^src/(config|query)/|^src/storage/query-template-shape\\.ts$',
  '@peculiar/x509': '^src/base/self-signed\\.ts$',
  commander: '^src/(cli/|main\\.ts)',
  '@bufbuild/protobuf': '^src/proto/',
  '@marcbachmann/cel-js': '^src/base/cel\\.ts$',
  '@opentelemetry': '^src/tracing/',
};

const folderRules = Object.entries(mayImport).map(([folder, allowed]) => ({
  name: `imports-of-${folder}`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: {
    path: '^(src|webhooks|hack|test)/',
    pathNot: [folder, ...allowed].map((name) => `^src/${name}/`),
  },
}));

const roomRules = Object.entries(rooms).flatMap(([folder, names]) =>
  ['[^/]+\\.ts$', ...names.map((name) => `${name}/`)].map((from, index) => ({
    name: `imports-of-${folder.replace('/', '-')}-${names[index - 1] ?? 'itself'}`,
    severity: 'error',
    from: { path: `^src/${folder}/${from}` },
    to: { path: `^src/${folder}/(${names.slice(index).join('|') || '-'})/` },
  })),
);

const libraryRules = Object.entries(ownedLibraries).map(([library, owner]) => ({
  name: `owner-of-${library}`,
  severity: 'error',
  from: { path: '^(src|webhooks)/', pathNot: owner },
  to: { path: `^node_modules/${library}/` },
}));

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'imports-of-webhooks',
      severity: 'error',
      from: { path: '^webhooks/' },
      to: { path: '^(src|schema|hack|test)/', pathNot: '^src/(base|api|kinds|metrics|proto|gitops)/' },
    },
    {
      name: 'product-never-imports-tools',
      severity: 'error',
      from: { path: '^(src|webhooks)/' },
      to: { path: '^(hack|test)/' },
    },
    {
      // What the tables of an installation are called is known to the database, and to those who ask it.
      name: 'stored-kinds-come-from-the-configuration',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/(kinds|config)/',
          '^src/app/kinds\\.ts$',
          // Names of fields, and no table.
          '^src/cli/kubectl/completion\\.ts$',
          '^src/storage/mysql/(tasks/(clone|clone-source|migrate)|schema/(migration-files|own-tables|table-naming))\\.ts$',
        ],
      },
      to: { path: '^src/kinds/kinds\\.ts$' },
    },
    {
      name: 'the-plan-of-the-lifecycle-is-pure',
      severity: 'error',
      from: { path: '^src/lifecycle/plan/' },
      to: { path: '^src/(metrics|kube|runtime|storage)/' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-development-dependency-in-product',
      severity: 'error',
      from: { path: '^(src|webhooks)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      // It costs 80 MB and most of a second; see docs/adr/0003-libraries.md#the-api-client-undici-for-calls-own-login.
      name: 'client-library-on-demand',
      severity: 'error',
      from: { path: '^(src|webhooks)/' },
      to: { path: '^node_modules/@kubernetes/client-node/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      // Most installations export no traces; docs/operations.md#traces says that nothing is loaded then.
      name: 'open-telemetry-on-demand',
      severity: 'error',
      from: { path: '^(src|webhooks)/', pathNot: '^src/tracing/(open-telemetry|span-outlet)\\.ts$' },
      to: {
        path: '^src/tracing/(open-telemetry|span-outlet)\\.ts$',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    ...folderRules,
    ...roomRules,
    ...libraryRules,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
