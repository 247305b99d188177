// The file of providers that leads a platform to the upstream of the benchmark.

/** `port`: of the upstream. */
export function toProviderFile(port: number): string {
  return `[[providers]]
provider = "openai"
display_name = "OpenAI"
description = "the upstream of the benchmark"
address = { type = "fixed", url = "http://127.0.0.1:${port}" }
injection = { in = "header", name = "authorization", prefix = "Bearer " }
allow_http = true
sample_path = "/v1/models"
`;
}
