// SPDX-License-Identifier: MIT
#include "base/secrets.h"

#include "base/text.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

// Every planted secret holds this; not one byte of it may be left.
constexpr const char* kCanary = "CaNaRy";

std::string masked(const std::vector<std::string>& argv) { return joinShell(maskSecrets(argv)); }

TEST_CASE("forty planted secrets leave no trace in a recorded command") {
  const std::string jwt = "eyJhbGciCaNaRy.eyJzdWIiOiCaNaRy.c2lnbmF0dXJlCaNaRy";
  const std::vector<std::vector<std::string>> commands = {
      {"train", "--password", "CaNaRy"},
      {"train", "--password=CaNaRy"},
      {"train", "-password", "CaNaRy"},
      {"train", "--db-passwd", "CaNaRy"},
      {"train", "--token", "CaNaRy"},
      {"train", "--hf_token=CaNaRy"},
      {"train", "--apiKey", "CaNaRy"},
      {"train", "--api-key=CaNaRy"},
      {"train", "api_key=CaNaRy"},
      {"train", "+logger.wandb.api_key=CaNaRy"},
      {"train", "--client-secret", "CaNaRy"},
      {"train", "--secret", "--token", "CaNaRy"},
      {"train", "--aws-secret-access-key=CaNaRy"},
      {"env", "AWS_ACCESS_KEY_ID=CaNaRy", "train"},
      {"env", "MYSQL_PWD=CaNaRy", "train"},
      {"env", "WANDB_API_KEY=CaNaRy", "train"},
      {"env", "SSHPASS=CaNaRy", "train"},
      {"train", "--credentials", "CaNaRy"},
      {"train", "--private_key", "CaNaRy"},
      {"train", "--session-cookie=CaNaRy"},
      {"train", "https://user:CaNaRy@host/data"},
      {"train", "s3+https://CaNaRy@host"},
      {"train", "redis://:CaNaRy@host:6379/0"},
      {"train", "postgres://u:p@CaNaRy@host/db"},
      {"train", "https://host/x?a=1&access_token=CaNaRy&b=2"},
      {"train", "https://host/x?X-Amz-Signature=CaNaRy"},
      {"train", "https://account.blob/x?sv=2020&sig=CaNaRy"},
      {"curl", "-H", "Authorization: Basic CaNaRy CaNaRy"},
      {"curl", "-H", "authorization: Bearer CaNaRy"},
      {"curl", "-H", "Cookie: a=CaNaRy; b=CaNaRy"},
      {"curl", "-H", "X-Api-Key: CaNaRy"},
      {"curl", "-u", "me:CaNaRy", "host"},
      {"curl", "-u", "me:ab/CaNaRy", "host"},
      {"curl", "-ume:CaNaRy", "host"},
      {"curl", "--user=me:CaNaRy", "host"},
      {"curl", "-H", "X: bearer CaNaRy, Bearer CaNaRy"},
      {"sh", "-c", "curl -u me:CaNaRy https://host"},
      {"sh", "-c", "curl --proxy-user 'me:CaNaRy CaNaRy' https://host"},
      {"sh", "-c", "export HF_TOKEN=CaNaRy; python train.py"},
      {"sh", "-c", "export HF_TOKEN=a\\ CaNaRy; python train.py"},
      {"sh", "-c", "HF_TOKEN='a'\"CaNaRy\" python train.py"},
      {"sh", "-c", "mysql --password CaNaRy -e 'select 1'"},
      {"sh", "-c", "mysql --password 'a CaNaRy' -e 'select 1'"},
      {"sh", "-c", "PASSWORD=\"two CaNaRy words\" python train.py"},
      {"train", "{\"api_key\": \"CaNaRy\", \"lr\": 0.1}"},
      {"train", "{'password':'CaNaRy'}"},
      {"train", "{\"password\": \"a\\\"CaNaRy\"}"},
      {"train", "sk-CaNaRyCaNaRyCaNaRyCaNaRy"},
      {"train", "hf_CaNaRyCaNaRyCaNaRyCaNaRyCaNaRy"},
      {"train", "ghp_CaNaRyCaNaRyCaNaRyCaNaRyCaNaRyCaNaRy"},
      {"train", "--id", "AKIACaNaRyCaNaRyCaNaRy"},
      {"train", "--x=glpat-CaNaRyCaNaRyCaNaRy"},
      {"train", "--note", jwt},
      {"train", "Server=db;Uid=me;Pwd=CaNaRy;Timeout=3"},
      {"train", "-----BEGIN RSA PRIVATE KEY-----\nCaNaRy\n-----END RSA PRIVATE KEY-----"},
  };
  REQUIRE(commands.size() >= 40);
  for (const auto& command : commands) {
    const std::string line = masked(command);
    INFO(joinShell(command) << "  ->  " << line);
    CHECK(line.find(kCanary) == std::string::npos);
    CHECK(line.find("***") != std::string::npos);
  }
}

TEST_CASE("a training's usual words are recorded as they are") {
  const std::vector<std::vector<std::string>> commands = {
      {"python", "-u", "train.py", "--epochs=3", "--data", "/data/imagenet", "--lr", "1e-3"},
      {"train", "--tokenizer", "bert-base-uncased", "--max-tokens", "512"},
      {"train", "--num_tokens_per_batch=4096", "--pad-token", "<pad>", "--author", "me"},
      {"torchrun", "--rdzv-endpoint", "host:29500", "--nproc-per-node=8", "train.py"},
      {"train", "https://host/path?size=3", "s3://bucket/key", "C:x", "a=b", "model:resnet50"},
      {"train", "sk-short", "eyJust.a.word", "--workers", "4", "time=12:30:00"},
      {"sh", "-c", "cd /data && python -u train.py --batch-size 64"},
      {"python", "-u", "./runs/a:b", "-u", "http://host:80/x", "-user", "-u"},
  };
  for (const auto& command : commands) CHECK(maskSecrets(command) == command);
}

TEST_CASE("a setting of a secret is one to the end of its word") {
  for (const char* word : {"--password=Ca,NaRy CaNaRy", "DB_PASSWORD=x;CaNaRy", "--token=a&CaNaRy"})
    CHECK(masked({"t", word}).find(kCanary) == std::string::npos);
  CHECK(maskSecrets({"sh", "-c", "API_KEY=CaNaRy python train.py"}) ==
        std::vector<std::string>{"sh", "-c", "API_KEY=*** python train.py"});
}

TEST_CASE("in a line of source what is quoted may be a secret, and names are none") {
  for (const char* line :
       {"r = requests.post(u, headers={\"Authorization\": \"Bearer CaNaRy\"})",
        "r = get(u, headers={'Authorization': 'Basic CaNaRy'})", "token = \"CaNaRy\"",
        "api_key = f'CaNaRy{x}'", "log({\"password\": \"CaNaRy\"})",
        "db = connect('postgres://me:CaNaRy@host/x')", "password = \"\"\"CaNaRy\"\"\"",
        "password = '''CaNaRy", "token = 'a\\'CaNaRy'", "login(token=rb'a' f'CaNaRy')"}) {
    INFO(line);
    CHECK(maskSource(line).find(kCanary) == std::string::npos);
  }
  for (const char* line : {"for token in tokens: total += 1", "token = batch['token']",
                           "with tf.Session() as session: session.run(step)",
                           "tokens = tokenizer(batch, padding=True)", "auth = self.auth"})
    CHECK(maskSource(line) == line);
}

TEST_CASE("what is around a secret stays") {
  CHECK(masked({"t", "https://me:pw@host/x?token=1&y=2"}) ==
        "t 'https://***@host/x?token=***&y=2'");
  CHECK(masked({"t", "--token", "x", "--lr", "1"}) == "t --token '***' --lr 1");
  CHECK(masked({"t", "--token=x", "y"}) == "t '--token=***' y");
  CHECK(maskSecrets({"sh", "-c", "curl -u 'a:b c' --token 'd e' host"}).at(2) ==
        "curl -u 'a:*** --token *** host");
  CHECK(maskSource("f(token='a' 'b', x='c')") == "f(token='***', x='c')");
  CHECK(maskSource("f(token=\"\"\"a\"\"\", x='c')") == "f(token=\"\"\"***\"\"\", x='c')");
}

TEST_CASE("a word of two megabytes is masked in its part that is kept") {
  std::string word;
  while (word.size() < 2'000'000) word += "token=CaNaRy ";
  const std::string line = maskSecrets({word}).at(0);
  CHECK(line.size() < 70'000);
  CHECK(line.find(kCanary) == std::string::npos);
}

TEST_CASE("only listed environment variables are recorded, and none named as a secret") {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_DEBUG", "RANK",
                           "SLURM_JOB_ID", "TOKENIZERS_PARALLELISM"})
    CHECK(environmentRecorded(name));
  for (const char* name : {"HOME", "PATH", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "SLURM_JWT",
                           "TORCH_HUB_TOKEN", "CUDA", "", "ranking"})
    CHECK_FALSE(environmentRecorded(name));
  CHECK(maskSecret("SLURM_JWT", "abc") == "***");
  CHECK(maskSecret("TORCH_HOME", "https://u:p@h/x") == "https://***@h/x");
  CHECK(maskSecret("OMP_NUM_THREADS", "4") == "4");
}

TEST_CASE("a word with a masked part is known as one, whatever is around it") {
  const auto words = maskSecrets({"--token=abc", "--steps=3"});
  CHECK(hasMask(words[0]));
  CHECK_FALSE(hasMask(words[1]));
}

}  // namespace
}  // namespace stallprof
