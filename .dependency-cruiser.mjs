// Which folder may import which. This table is the rule; docs/architecture.md explains it.
const mayImport = {
  base: [],
  api: ['base'],
  config: ['base', 'api'],
  proto: ['base', 'api'],
  kube: ['base', 'api'],
  storage: ['base', 'api'],
  runtime: ['base', 'api', 'kube'],
  gitops: ['base', 'api', 'kube'],
  sync: ['base', 'api', 'proto', 'kube', 'runtime', 'storage', 'gitops'],
  lifecycle: ['base', 'api', 'kube', 'runtime', 'storage'],
  query: ['base', 'api', 'kube', 'storage', 'gitops'],
};

/** A library that only one place may import, types included. */
const ownedLibraries = {
  mysql2: '^src/storage/mysql/',
  '@kubernetes/client-node': '^src/kube/http/',
  undici: '^src/kube/http/',
  express: '^(webhooks|src/query)/',
  pino: '^src/base/logger\\.ts$',
  'prom-client': '^src/(base/metrics|app/health\\.ts)',
  zod: '^src/config/',
  '@peculiar/x509': '^src/app/self-signed\\.ts$',
  commander: '^src/(cli/|main\\.ts)',
  '@bufbuild/protobuf': '^src/proto/',
  '@marcbachmann/cel-js': '^src/base/cel\\.ts$',
};

const folderRules = Object.entries(mayImport).map(([folder, allowed]) => ({
  name: `imports-of-${folder}`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: {
    path: '^(src|webhooks|schema|hack|test)/',
    pathNot: [...[folder, ...allowed].map((name) => `^src/${name}/`), ...(folder === 'api' ? ['^schema/kinds/'] : [])],
  },
}));

const libraryRules = Object.entries(ownedLibraries).map(([library, owner]) => ({
  name: `owner-of-${library}`,
  severity: 'error',
  from: { path: '^(src|webhooks|schema)/', pathNot: owner },
  to: { path: `^node_modules/${library}/` },
}));

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'imports-of-webhooks',
      severity: 'error',
      from: { path: '^webhooks/' },
      to: { path: '^(src|schema|hack|test)/', pathNot: '^src/(base|api|gitops)/' },
    },
    {
      name: 'imports-of-schema',
      severity: 'error',
      from: { path: '^schema/' },
      to: { path: '^(src|webhooks|hack|test)/', pathNot: '^src/api/kind\\.ts$' },
    },
    {
      name: 'product-never-imports-tools',
      severity: 'error',
      from: { path: '^(src|webhooks|schema)/' },
      to: { path: '^(hack|test)/' },
    },
    {
      // The catalogue does not know what the tables of an installation are called.
      name: 'stored-kinds-come-from-the-configuration',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/(api|config)/',
          '^src/app/kinds\\.ts$',
          '^src/storage/mysql/(clone-source|migrate|migration-files|own-tables|table-names)\\.ts$',
        ],
      },
      to: { path: '^src/api/kinds\\.ts$' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-development-dependency-in-product',
      severity: 'error',
      from: { path: '^(src|webhooks|schema)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      // It costs 80 MB and most of a second; see docs/adr/0034.
      name: 'client-library-on-demand',
      severity: 'error',
      from: { path: '^(src|webhooks|schema)/' },
      to: { path: '^node_modules/@kubernetes/client-node/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    ...folderRules,
    ...libraryRules,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
