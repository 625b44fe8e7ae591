import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const bareErrors = {
  selector: 'ThrowStatement > NewExpression[callee.name=/^(Error|TypeError|RangeError)$/]',
  message: 'Throw a CodedError (src/base/errors.ts) with a stable code and say what to do next.',
};

export default defineConfig(
  { ignores: ['node_modules', 'dist', '.local', '**/generated/**', '**/*.mjs', 'src/query/ui/*.js', 'config/**/*.js'] },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['describe', 'it', 'test', 'before', 'after', 'suite'], package: 'node:test' },
          ],
        },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': [
        'error',
        bareErrors,
        { selector: 'ExportDefaultDeclaration', message: 'Use named exports.' },
        { selector: 'TSEnumDeclaration', message: 'Use an as-const object or a union.' },
      ],
      complexity: ['error', 12],
      'max-params': ['error', 4],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-warning-comments': 'error',
      eqeqeq: 'error',
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_', argsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['src/**/*.ts', 'webhooks/**/*.ts'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'error' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: [
      'src/api/**/*.ts',
      'src/proto/**/*.ts',
      'src/sync/flows/classify.ts',
      'src/sync/row.ts',
      'webhooks/policies/**/*.ts',
    ],
    rules: {
      'no-restricted-globals': ['error', 'process', 'setTimeout', 'setInterval', 'console'],
      'no-restricted-imports': ['error', { patterns: ['node:*', 'pino'] }],
    },
  },
);
