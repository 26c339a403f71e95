/** What is wrong with a configuration, in words that name the keys. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'configInvalid';
}
