// SPDX-License-Identifier: MIT
// One test a family of libraries. The stacks are real, of the versions that the rule files name
// (interpreter frames outside the fetch left out).
#include "tests/unit/classify/stacks.h"

using namespace stallprof;
using test::Answer;
using test::ask;

namespace {

const std::string kSite = "/venv/lib/python3.11/site-packages/";
const std::string kLib = "/usr/lib/python3.11/";
const std::string kFetch = kSite + "torch/utils/data/_utils/fetch.py _MapDatasetFetcher.fetch";
const std::string kItem = "/home/me/train.py Photos.__getitem__";
const std::string kLoop = "/home/me/train.py main";

// A worker inside its fetch, in the user's dataset.
Answer making(std::vector<std::string> frames, Wait wait = Wait::kRunning) {
  std::vector<std::string> all = {kSite + "torch/utils/data/_utils/worker.py _worker_loop", kFetch,
                                  kItem};
  all.insert(all.end(), frames.begin(), frames.end());
  return ask(Side::kProducer, wait, all);
}

// The training loop's own thread.
Answer training(std::vector<std::string> frames, Wait wait = Wait::kRunning) {
  std::vector<std::string> all = {kLoop};
  all.insert(all.end(), frames.begin(), frames.end());
  return ask(Side::kTrainer, wait, all);
}

}  // namespace

TEST_CASE("torch: loader internals, forward, backward, optimizer, saving") {
  CHECK(ask(Side::kProducer, Wait::kRunning,
            {kFetch, kSite + "torch/utils/data/_utils/collate.py default_collate",
             kSite + "torch/utils/data/_utils/collate.py collate_tensor_fn"}) ==
        Answer{"transform", "torch.collate"});
  CHECK(ask(Side::kProducer, Wait::kPipe,
            {kSite + "torch/utils/data/_utils/worker.py _worker_loop",
             kLib + "multiprocessing/queues.py Queue.get",
             kLib + "multiprocessing/connection.py _ConnectionBase.poll"}) ==
        Answer{"load", "python.queue"});
  CHECK(training({kSite + "torch/utils/data/dataloader.py _BaseDataLoaderIter.__next__",
                  kSite + "torch/utils/data/_utils/pin_memory.py pin_memory"}) ==
        Answer{"load", "torch.pin"});
  const std::string call = kSite + "torch/nn/modules/module.py Module._call_impl";
  CHECK(training({call, kSite + "torch/nn/modules/conv.py Conv2d.forward"}) ==
        Answer{"compute", "torch.forward"});
  CHECK(training({kSite + "torch/_tensor.py Tensor.backward",
                  kSite + "torch/autograd/__init__.py backward"}) ==
        Answer{"compute", "torch.backward"});
  CHECK(training({kSite + "torch/optim/optimizer.py Optimizer.profile_hook_step.<locals>.wrapper",
                  kSite + "torch/optim/sgd.py SGD.step"}) == Answer{"compute", "torch.optimizer"});
  CHECK(
      training({kSite + "torch/distributed/pipelining/schedules.py Schedule1F1B._step_microbatches",
                kSite + "torch/distributed/pipelining/schedules.py _wait_batch_p2p"}) ==
      Answer{"comm", "torch.pipeline_wait"});
  CHECK(training({kSite + "torch/serialization.py save", kSite + "torch/serialization.py _save",
                  kLib + "pickle.py _Pickler.save"}) == Answer{"periodic", "torch.save"});
  CHECK(training({kSite + "torch/serialization.py save"}, Wait::kFileWrite) ==
        Answer{"periodic", "torch.save"});
  // Around a function that is not to be compiled, whoever calls it.
  const std::string seeds[] = {
      kSite + "torch/_compile.py _disable_dynamo.<locals>.inner",
      kSite + "torch/_dynamo/eval_frame.py DisableContext.__call__.<locals>._fn",
      kSite + "torch/random.py manual_seed"};
  CHECK(making({"data.py Samples.__getitem__", seeds[0], seeds[1], seeds[2]}).phase == "transform");
  CHECK(training({"train.py main", seeds[0], seeds[1], seeds[2]}).phase == "compute");
  // Sent to another process, not saved.
  CHECK(training({"train.py main", kSite + "torch/storage.py UntypedStorage.__reduce__",
                  kSite + "torch/serialization.py save"}) == Answer{"compute", "torch.pickle"});
  CHECK(training({"train.py main", kSite + "torch/storage.py _load_from_bytes",
                  kSite + "torch/serialization.py load"}) == Answer{"compute", "torch.pickle"});
  CHECK(making({kSite + "torch/serialization.py load"}) == Answer{"extract", "torch.load_samples"});
}

TEST_CASE("torch operators are a transform in a producer and compute in the trainer") {
  const std::string op = kSite + "torch/nn/functional.py interpolate";
  CHECK(making({op}) == Answer{"transform", "torch.forward"});
  CHECK(training({op}) == Answer{"compute", "torch.forward"});
}

TEST_CASE("with no workers the fetch is a producer's, though the trainer runs it") {
  const std::vector<std::string> fetch = {
      kLoop, kSite + "torch/utils/data/dataloader.py _BaseDataLoaderIter.__next__",
      kSite + "torch/utils/data/dataloader.py _SingleProcessDataLoaderIter._next_data", kFetch,
      kItem};
  CHECK(ask(Side::kTrainer, Wait::kRunning, fetch) == Answer{"transform", "own.producer"});
  CHECK(ask(Side::kTrainer, Wait::kFileRead, fetch) == Answer{"extract", "wait.file_read"});
  CHECK(ask(Side::kTrainer, Wait::kRunning, {fetch[0], fetch[1], fetch[2]}) ==
        Answer{"load", "torch.loader"});
  CHECK(ask(Side::kProducer, Wait::kRunning,
            {fetch[0], fetch[1], fetch[2],
             kSite + "torch/utils/data/dataloader.py _BaseDataLoaderIter._next_index",
             "/home/me/train.py ByLength.__iter__"}) == Answer{"transform", "torch.indices"});
}

TEST_CASE("images: opening reads, the rest decodes; blocked on the file it reads") {
  const std::string load = kSite + "PIL/ImageFile.py ImageFile.load";
  CHECK(making({kSite + "PIL/Image.py open", kSite + "PIL/Image.py open.<locals>._open_core"}) ==
        Answer{"extract", "pillow.open"});
  CHECK(making({kSite + "PIL/Image.py Image.resize"}) == Answer{"transform", "pillow"});
  CHECK(making({kSite + "PIL/Image.py Image.convert", load}) == Answer{"transform", "pillow"});
  CHECK(making({load}, Wait::kFileRead) == Answer{"extract", "wait.file_read"});
  CHECK(making({kSite + "torchvision/transforms/transforms.py Compose.__call__",
                kSite + "torchvision/transforms/functional.py normalize",
                kSite + "torch/_tensor.py Tensor.__rsub__"}) ==
        Answer{"transform", "torchvision.transforms"});
  CHECK(making({kSite + "albucore/functions.py normalize_lut"}) ==
        Answer{"transform", "albumentations"});
  CHECK(training({kSite + "torchvision/models/resnet.py ResNet._forward_impl"}) ==
        Answer{"compute", "torchvision.model"});
  // OpenCV is C++: the user's line is all that Python shows, and the library names itself.
  CHECK(making({}) == Answer{"transform", "own.producer"});
  CHECK(making({"native " + kSite + "cv2/cv2.abi3.so cv::resize"}) ==
        Answer{"transform", "image.native"});
  CHECK(making({"native " + kSite + "cv2/cv2.abi3.so 0x1234"}) == Answer{"transform", "opencv"});
}

TEST_CASE("NumPy, pandas, Arrow: reading, parsing, and arrays of whoever works") {
  CHECK(making({kSite + "numpy/lib/_npyio_impl.py load",
                kSite + "numpy/lib/_format_impl.py read_array"}) ==
        Answer{"extract", "numpy.read"});
  CHECK(making({kSite + "numpy/lib/_npyio_impl.py genfromtxt"}) ==
        Answer{"transform", "numpy.parse"});
  const std::string median = kSite + "numpy/lib/_function_base_impl.py _quantile";
  CHECK(making({median}) == Answer{"transform", "numpy"});
  CHECK(training({median}) == Answer{"compute", "numpy"});
  CHECK(training({kSite + "pandas/io/parsers/readers.py read_csv",
                  kSite + "pandas/io/parsers/c_parser_wrapper.py CParserWrapper.read"}) ==
        Answer{"transform", "pandas.read"});
  // NumPy inside pandas is pandas' word.
  CHECK(training({kSite + "pandas/core/frame.py DataFrame.sort_values", median}) ==
        Answer{"transform", "pandas"});
  CHECK(making({kSite + "pyarrow/parquet/core.py read_table",
                kSite + "pyarrow/parquet/core.py ParquetDataset.read"}) ==
        Answer{"transform", "arrow"});
  CHECK(making({kSite + "pyarrow/parquet/core.py ParquetDataset.read"}, Wait::kFileRead) ==
        Answer{"extract", "wait.file_read"});
}

TEST_CASE("stores: HDF5, Zarr, LMDB, WebDataset") {
  CHECK(making({kSite + "h5py/_hl/dataset.py Dataset.__getitem__"}) == Answer{"extract", "h5py"});
  CHECK(making({kSite + "zarr/core/array.py Array.__getitem__", kSite + "zarr/core/sync.py sync",
                kLib + "concurrent/futures/_base.py wait", kLib + "threading.py Condition.wait"},
               Wait::kFutex) == Answer{"transform", "zarr.wait"});
  CHECK(making({}, Wait::kPageFault) == Answer{"extract", "wait.page_fault"});  // lmdb: a C call
  CHECK(making({kSite + "webdataset/tariterators.py tar_file_iterator",
                kLib + "tarfile.py _Stream.read", kLib + "tarfile.py _Stream.__read"}) ==
        Answer{"extract", "python.archive"});
  CHECK(ask(Side::kTrainer, Wait::kRunning,
            {kLoop, kSite + "webdataset/pipeline.py DataPipeline.iterator",
             kSite + "webdataset/filters.py _map", "/home/me/train.py decode"}) ==
        Answer{"transform", "webdataset"});
}

TEST_CASE("Hugging Face: map makes data whoever runs it, evaluation is periodic") {
  CHECK(training({kSite + "datasets/arrow_dataset.py Dataset.map",
                  kSite + "datasets/arrow_dataset.py Dataset._map_single",
                  "/home/me/train.py tokenize"}) == Answer{"transform", "datasets.map"});
  CHECK(making({kSite + "datasets/arrow_dataset.py Dataset.__getitem__",
                kSite + "datasets/formatting/formatting.py query_table",
                kSite + "datasets/table.py IndexedTableMixin.fast_slice"}) ==
        Answer{"transform", "datasets"});
  CHECK(
      making({kSite + "tokenizers/implementations/base_tokenizer.py BaseTokenizer.encode_batch"}) ==
      Answer{"transform", "tokenizers"});
  CHECK(training({kSite + "transformers/trainer.py Trainer.evaluate",
                  kSite + "torch/nn/modules/linear.py Linear.forward"}) ==
        Answer{"periodic", "transformers.evaluate"});
  // The user's own folder called datasets is not the library.
  CHECK(ask(Side::kTrainer, Wait::kRunning, {kLoop, "/home/me/datasets/coco.py load"}) ==
        Answer{"compute", "own.trainer"});
}

TEST_CASE(
    "TensorFlow, Keras, JAX: asking the pipeline is load, a validation inside fit is periodic") {
  const std::string fit = kSite + "keras/src/backend/tensorflow/trainer.py TensorFlowTrainer.fit";
  const std::string quick = kSite + "tensorflow/python/eager/execute.py quick_execute";
  CHECK(training({fit, kSite + "tensorflow/python/data/ops/iterator_ops.py OwnedIterator.__next__",
                  kSite + "tensorflow/python/ops/gen_dataset_ops.py iterator_get_next"}) ==
        Answer{"load", "tfdata.next"});
  CHECK(training({fit, quick}) == Answer{"compute", "keras.train"});
  CHECK(training({fit, kSite + "keras/src/backend/tensorflow/trainer.py TensorFlowTrainer.evaluate",
                  quick}) == Answer{"periodic", "keras.evaluate"});
  CHECK(training({kSite + "keras/src/backend/tensorflow/trainer.py TensorFlowTrainer.predict",
                  quick}) == Answer{"periodic", "keras.predict"});
  CHECK(training(
            {fit, kSite + "keras/src/callbacks/progbar_logger.py ProgbarLogger.on_train_batch_end"},
            Wait::kFileWrite) == Answer{"periodic", "keras.logging"});
  CHECK(training({kSite + "jax/_src/compiler.py backend_compile_and_load"}) ==
        Answer{"compute", "jax.compile"});
}

TEST_CASE("scikit-learn, XGBoost, spaCy: features, fitting, scoring") {
  CHECK(training({kSite + "sklearn/tree/_classes.py DecisionTreeClassifier.fit",
                  kSite + "numpy/lib/_arraysetops_impl.py unique"}) ==
        Answer{"compute", "sklearn"});
  CHECK(training({kSite + "sklearn/preprocessing/_data.py StandardScaler.partial_fit",
                  kSite + "sklearn/utils/extmath.py _incremental_mean_and_var"}) ==
        Answer{"transform", "sklearn.transform"});
  CHECK(training({kSite + "lightgbm/engine.py train",
                  kSite + "lightgbm/basic.py Booster.__inner_eval", "/u/train.py metric"}) ==
        Answer{"periodic", "lightgbm.evaluate"});
  CHECK(training({kSite + "spacy/training/loop.py create_evaluation_callback.<locals>.evaluate",
                  kSite + "spacy/training/corpus.py Corpus._make_example"}) ==
        Answer{"periodic", "spacy.evaluate"});
  CHECK(training({kSite + "spacy/language.py Language.update",
                  kSite + "thinc/model.py Model.begin_update"}) ==
        Answer{"compute", "spacy.update"});
  CHECK(training({kSite + "spacy/training/loop.py create_train_batches",
                  kSite + "spacy/training/corpus.py Corpus.__call__"}) ==
        Answer{"transform", "spacy.data"});
  CHECK(training({kSite + "gensim/models/word2vec.py Word2Vec._job_producer",
                  "/u/train.py words"}) == Answer{"transform", "gensim.producer"});
  CHECK(training({kSite + "river/compose/pipeline.py Pipeline.learn_one",
                  kSite + "river/preprocessing/scale.py StandardScaler.learn_one"}) ==
        Answer{"transform", "river.transform"});
  CHECK(training({kSite + "sklearn/naive_bayes.py _BaseDiscreteNB.partial_fit",
                  kSite + "sklearn/preprocessing/_label.py label_binarize"}) ==
        Answer{"compute", "sklearn.update"});
  const std::string checks = kSite + "sklearn/utils/_param_validation.py validate_params.wrapper";
  CHECK(training({checks, kSite + "sklearn/metrics/_ranking.py roc_auc_score",
                  kSite + "sklearn/preprocessing/_label.py label_binarize"}) ==
        Answer{"compute", "sklearn.metrics"});
  CHECK(training({checks, kSite + "sklearn/metrics/_classification.py f1_score",
                  kSite + "pandas/core/frame.py DataFrame.dtypes"}) ==
        Answer{"compute", "sklearn.metrics"});
  CHECK(training({checks, kSite + "sklearn/preprocessing/_data.py scale"}) ==
        Answer{"transform", "sklearn.transform"});
  CHECK(training({checks, kSite + "sklearn/cluster/_kmeans.py k_means"}) ==
        Answer{"compute", "sklearn"});
  CHECK(training({kSite + "sklearn/model_selection/_validation.py _score",
                  kSite + "sklearn/tree/_classes.py BaseDecisionTree.predict"}) ==
        Answer{"periodic", "sklearn.score"});
  CHECK(training({kSite + "xgboost/training.py train", kSite + "xgboost/core.py Booster.update"}) ==
        Answer{"compute", "boosting.update"});
  CHECK(training({kSite + "xgboost/core.py DMatrix.__init__",
                  kSite + "xgboost/data.py _from_numpy_array"}) ==
        Answer{"transform", "xgboost.data"});
  CHECK(
      training({kSite + "xgboost/training.py train", kSite + "xgboost/core.py Booster.eval_set"}) ==
      Answer{"periodic", "xgboost.evaluate"});
}

TEST_CASE("environments of reinforcement learning make data") {
  CHECK(training({kSite + "gymnasium/vector/sync_vector_env.py SyncVectorEnv.step",
                  kSite + "gymnasium/wrappers/common.py RecordEpisodeStatistics.step",
                  kSite + "gymnasium/envs/classic_control/cartpole.py CartPoleEnv.step"}) ==
        Answer{"transform", "environment"});
}

TEST_CASE("sound and video") {
  CHECK(making({kSite + "soundfile.py SoundFile._open"}) == Answer{"extract", "soundfile.open"});
  CHECK(making({kSite + "soundfile.py SoundFile._cdata_io"}) == Answer{"transform", "soundfile"});
  CHECK(making({kSite + "librosa/feature/spectral.py mfcc",
                kSite + "scipy/fft/_pocketfft/basic.py r2c"}) == Answer{"transform", "librosa"});
  CHECK(making({kSite + "decord/video_reader.py VideoReader.get_batch",
                kSite + "decord/_ffi/_ctypes/function.py FunctionBase.__call__"}) ==
        Answer{"transform", "video"});
  CHECK(making({"native /venv/av.libs/libavcodec-9aae324f.so.61.19.100 ff_mpeg_decode"}) ==
        Answer{"transform", "video"});
}

TEST_CASE("the standard library: parsing, decompressing, files, queues") {
  CHECK(
      making({kLib + "json/__init__.py loads", kLib + "json/decoder.py JSONDecoder.raw_decode"}) ==
      Answer{"transform", "python.parse"});
  CHECK(making({kLib + "csv.py DictReader.__next__"}) == Answer{"transform", "python.parse"});
  CHECK(making({kLib + "gzip.py GzipFile.read", kLib + "_compression.py DecompressReader.readall",
                kLib + "gzip.py _GzipReader.read"}) == Answer{"transform", "python.decompress"});
  CHECK(making({kLib + "gzip.py _PaddedFile.read"}, Wait::kFileRead) ==
        Answer{"extract", "wait.file_read"});
  CHECK(making({kLib + "zipfile.py ZipFile.read", kLib + "zipfile.py ZipExtFile._read1"}) ==
        Answer{"transform", "python.decompress"});
  CHECK(making({kLib + "zipfile.py ZipExtFile._read2", kLib + "zipfile.py _SharedFile.read"}) ==
        Answer{"extract", "python.archive"});
  CHECK(making({kLib + "pickle.py _Unpickler.load"}) == Answer{"transform", "python.unpickle"});
  CHECK(making({kLib + "pathlib.py Path.read_text"}) == Answer{"extract", "python.io"});
  CHECK(making({kLib + "urllib/request.py urlopen", kLib + "ssl.py SSLSocket.recv_into"},
               Wait::kSocket) == Answer{"extract", "wait.socket"});
}

TEST_CASE("what a worker imports with its first batch is its start-up, not a transform") {
  const std::string import = "<frozen importlib._bootstrap> ";
  CHECK(making({kSite + "lazy_loader/__init__.py attach.<locals>.__getattr__",
                kLib + "importlib/__init__.py import_module", import + "_find_and_load",
                kSite + "numba/core/ir.py <module>"}) == Answer{"load", "python.worker_import"});
  CHECK(training({import + "_find_and_load", kSite + "numba/core/ir.py <module>"}) ==
        Answer{"other", "python.import"});
}

TEST_CASE("logging and trackers cover what they call") {
  CHECK(training({kLib + "logging/__init__.py Logger.info",
                  kLib + "logging/__init__.py StreamHandler.flush"},
                 Wait::kFileWrite) == Answer{"periodic", "python.logging"});
  CHECK(training({kSite + "torch/utils/tensorboard/writer.py SummaryWriter.add_image",
                  kSite + "PIL/Image.py Image.save"}) == Answer{"periodic", "torch.tensorboard"});
  CHECK(training({kSite + "tensorboard/summary/writer/event_file_writer.py _AsyncWriter.write",
                  kLib + "queue.py Queue.put", kLib + "threading.py Condition.wait"},
                 Wait::kFutex) == Answer{"periodic", "tracker.tensorboard"});
  CHECK(training({kSite + "wandb/sdk/wandb_run.py Run.log"}, Wait::kSocket) ==
        Answer{"periodic", "tracker.remote"});
  CHECK(training({kSite + "tqdm/std.py tqdm.update", kSite + "tqdm/utils.py disp_len"}) ==
        Answer{"periodic", "progress"});
  CHECK(training({kSite + "loguru/_logger.py Logger.info",
                  kSite + "loguru/_handler.py Handler.emit"}) == Answer{"periodic", "loguru"});
  CHECK(training({kSite + "mlflow/tracking/fluent.py log_metrics", kSite + "requests/api.py post"},
                 Wait::kSocket) == Answer{"periodic", "tracker.remote"});
  CHECK(training({kSite + "comet_ml/experiment.py Experiment.log_metric"}) ==
        Answer{"periodic", "tracker.calls"});
  // Iterating over a bar is the loop itself.
  CHECK(training({kSite + "tqdm/std.py tqdm.__iter__"}) == Answer{"compute", "own.trainer"});
}

TEST_CASE("what a tracker, a logger or Horovod calls of the program's is the program's") {
  const auto step = [](const std::string& around) {
    return training(
        {around, "train.py main", kSite + "torch/nn/modules/module.py Module._call_impl"});
  };
  const Answer computes{"compute", "torch.forward"};
  CHECK(step(kSite + "loguru/_logger.py "
                     "Logger.catch.<locals>.Catcher.__call__.<locals>.catch_wrapper") == computes);
  CHECK(step(kSite + "loguru/_logger.py catch_wrapper") == computes);
  CHECK(step(kSite + "wandb/agents/pyagent.py Agent._run_job") == computes);
  CHECK(step(kSite + "mlflow/utils/autologging_utils/safety.py "
                     "safe_patch.<locals>.safe_patch_function") == computes);
  CHECK(step(kSite + "horovod/common/elastic.py run_fn.<locals>.wrapper") == computes);
  CHECK(step(kSite + "comet_ml/monkey_patching.py wrapper") == computes);
  CHECK(training({kSite + "horovod/torch/optimizer.py _DistributedOptimizer.step",
                  kSite + "torch/optim/sgd.py SGD.step"}) == Answer{"compute", "torch.optimizer"});
  CHECK(training({kSite + "horovod/torch/optimizer.py _DistributedOptimizer.synchronize"}) ==
        Answer{"comm", "horovod"});
}

TEST_CASE("files that the training thread writes are periodic, in a producer they are data") {
  const std::vector<std::string> copies = {kLib + "shutil.py copyfile"},
                                 saves = {kSite + "torchvision/utils.py save_image",
                                          kSite + "PIL/Image.py Image.save",
                                          kSite + "PIL/JpegImagePlugin.py _save"},
                                 table = {kSite + "pandas/core/generic.py NDFrame.to_csv",
                                          kSite + "pandas/io/formats/csvs.py CSVFormatter.save"};
  CHECK(training(copies, Wait::kFileWrite) == Answer{"periodic", "python.write"});
  CHECK(training({kLib + "pathlib.py Path.write_text"}) == Answer{"periodic", "python.write"});
  CHECK(training({kLib + "pathlib.py Path.read_text"}) == Answer{"extract", "python.io"});
  CHECK(training(saves) == Answer{"periodic", "pillow.write"});
  CHECK(training(table) == Answer{"periodic", "pandas.write"});
  CHECK(making(copies) == Answer{"extract", "python.walk"});
  CHECK(making(saves) == Answer{"transform", "pillow"});
  CHECK(training({kSite + "PIL/Image.py Image.save"}) == Answer{"transform", "pillow"});
  CHECK(training({kLib + "shutil.py copyfileobj", kLib + "gzip.py GzipFile.read"}) ==
        Answer{"transform", "python.decompress"});
}

TEST_CASE("a worker of PyTorch's pool makes what its function makes") {
  CHECK(making({kSite + "torch/multiprocessing/pool.py clean_worker",
                kLib + "multiprocessing/pool.py worker", "train.py make"}) ==
        Answer{"transform", "own.producer"});
}

TEST_CASE("Keras 2 has its evaluation, checkpoints and data where Keras 3 has") {
  const std::string keras = kSite + "tf_keras/src/";
  CHECK(training({keras + "engine/training.py Model.fit",
                  keras + "engine/training.py Model.evaluate"}) ==
        Answer{"periodic", "keras.evaluate"});
  CHECK(training({keras + "callbacks.py ModelCheckpoint.on_epoch_end",
                  kSite + "h5py/_hl/group.py Group.create_dataset"}) ==
        Answer{"periodic", "keras2.checkpoint"});
  CHECK(training({keras + "callbacks.py CSVLogger.on_epoch_end"}) ==
        Answer{"periodic", "keras2.logging"});
  CHECK(training({keras + "engine/data_adapter.py KerasSequenceAdapter._finite_generator"}).phase ==
        "transform");
}

TEST_CASE("evaluation and saving by libraries on top of PyTorch are periodic") {
  const std::string forward = kSite + "torch/nn/modules/linear.py Linear.forward";
  const std::string gather = kSite + "torch/distributed/distributed_c10d.py all_gather_into_tensor";
  CHECK(training({kSite + "stable_baselines3/common/evaluation.py evaluate_policy",
                  kSite + "gymnasium/core.py Wrapper.step"}) ==
        Answer{"periodic", "library.evaluate"});
  CHECK(training({kSite + "fastai/learner.py Learner._do_epoch_validate", forward}) ==
        Answer{"periodic", "library.evaluate"});
  CHECK(training({kSite + "fastai/learner.py Learner.__call__", forward}).phase == "compute");
  for (const std::string call : {"__call__", "BaseValidator.__call__"})  // the first: Python 3.10
    CHECK(training({kSite + "ultralytics/engine/validator.py " + call, forward}) ==
          Answer{"periodic", "ultralytics.evaluate"});
  CHECK(training({kSite + "pycocotools/cocoeval.py COCOeval.evaluate",
                  kSite + "numpy/lib/_arraysetops_impl.py unique"}) ==
        Answer{"periodic", "library.metrics"});
  CHECK(training({kSite + "torch/distributed/fsdp/_state_dict_utils.py _full_pre_state_dict_hook",
                  gather}) == Answer{"periodic", "torch.gather_state"});
  CHECK(training({kSite + "accelerate/accelerator.py Accelerator.save_state", gather}) ==
        Answer{"periodic", "transformers.checkpoint"});
  CHECK(training({kSite + "accelerate/accelerator.py Accelerator.backward", gather}) ==
        Answer{"comm", "torch.collective"});
  CHECK(training({kSite + "gensim/models/word2vec.py Word2Vec.save",
                  kSite + "gensim/utils.py SaveLoad.save"}) == Answer{"periodic", "library.save"});
}

TEST_CASE("what Lightning's progress bar reads of the device is the step's, what it draws is not") {
  const std::string bar = kSite +
                          "lightning/pytorch/callbacks/progress/tqdm_progress.py "
                          "TQDMProgressBar.on_train_batch_end";
  CHECK(training({bar, kSite + "lightning/fabric/utilities/apply_func.py "
                               "convert_tensors_to_scalars.<locals>.to_item"},
                 Wait::kDevice) == Answer{"compute", "lightning"});
  CHECK(training({bar, kSite + "tqdm/std.py tqdm.refresh"}) == Answer{"periodic", "progress"});
}

TEST_CASE("samples of streams, and cached functions, are made by the program's own code") {
  const std::string stream = kSite + "streaming/base/dataset.py StreamingDataset.__iter__";
  CHECK(making({stream, kItem}) == Answer{"transform", "streaming.samples"});
  CHECK(making({stream, kItem, kSite + "streaming/base/array.py Array.__getitem__"}) ==
        Answer{"extract", "tfrecord"});
  CHECK(making({kSite + "ffcv/loader/epoch_iterator.py EpochIterator.run_pipeline"}) ==
        Answer{"transform", "ffcv"});
  CHECK(making({kSite + "joblib/memory.py MemorizedFunc.__call__",
                kSite + "joblib/memory.py MemorizedFunc.call", "/home/me/train.py features"})
            .phase == "transform");
}

TEST_CASE("what the training thread uploads or writes is a checkpoint, what it reads is data") {
  CHECK(training({kSite + "ray/train/_internal/storage.py _upload_to_fs_path",
                  kSite + "pyarrow/fs.py copy_files"},
                 Wait::kSocket) == Answer{"periodic", "arrow.write"});
  CHECK(making({kSite + "fsspec/spec.py AbstractBufferedFile.read"}) ==
        Answer{"extract", "arrow.open"});
  CHECK(training({kSite + "numpy/lib/_npyio_impl.py savez_compressed",
                  kSite + "numpy/lib/_npyio_impl.py _savez",
                  kLib + "zipfile/__init__.py _ZipWriteFile.write"}) ==
        Answer{"periodic", "numpy.write"});
  CHECK(making({kSite + "numpy/lib/_npyio_impl.py save"}) == Answer{"transform", "numpy"});
  CHECK(training({kLib + "pathlib/_abc.py PathBase.write_bytes"}) ==
        Answer{"periodic", "python.write"});
  CHECK(training({kSite + "matplotlib/pyplot.py imread", kSite + "matplotlib/image.py imread",
                  kSite + "PIL/ImageFile.py ImageFile.load"}) ==
        Answer{"transform", "matplotlib.read"});
  CHECK(training({kSite + "matplotlib/animation.py Animation._step", "train.py update",
                  kSite + "torch/autograd/__init__.py backward"}) ==
        Answer{"compute", "torch.backward"});
  CHECK(training({kSite + "sklearn/compose/_target.py TransformedTargetRegressor.fit",
                  kSite + "sklearn/ensemble/_forest.py BaseForest.fit"}) ==
        Answer{"compute", "sklearn"});
  CHECK(
      training({kSite + "transformers/processing_utils.py ProcessorMixin.__call__",
                kSite + "transformers/video_processing_utils.py BaseVideoProcessor.preprocess"}) ==
      Answer{"transform", "tokenizers"});
}

TEST_CASE("Keras 2's pool and tf.data's arrays") {
  for (const std::string keras : {"keras/", "keras/src/", "tf_keras/src/"})
    CHECK(ask(Side::kTrainer, Wait::kRunning,
              {kLib + "multiprocessing/pool.py worker",
               kSite + keras + "utils/data_utils.py get_index", kItem}) ==
          Answer{"transform", "keras.data"});
  CHECK(training({kSite + "tensorflow/python/data/ops/dataset_ops.py NumpyIterator.__next__",
                  kSite + "tensorflow/python/data/ops/iterator_ops.py OwnedIterator.__next__"}) ==
        Answer{"load", "tfdata.numpy"});
}
