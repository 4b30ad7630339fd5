#include "jobfiles/tuxiv/conda_names.h"

#include <algorithm>

namespace dove::jobfiles {

namespace {

// The same name in both. Each stands between blanks.
constexpr std::string_view kSame =
    " "
    "absl-py accelerate addict affine aiobotocore aiofiles aiohttp aiosignal albumentations "
    "alembic altair anndata annoy ansible antlr4-python3-runtime anyio appdirs apscheduler "
    "argcomplete argon2-cffi arrow arviz ase asgiref astor astropy astunparse async-timeout "
    "atari-py attrs audioread autograd autopep8 ax-platform azure-storage-blob babel backcall "
    "bcrypt beautifulsoup4 biopython bitarray bitsandbytes black bleach blinker blosc2 bokeh "
    "boltons boto3 botocore botorch bottleneck brotli brotlipy bs4 cached-property cachetools "
    "captum cartopy catboost certifi cffi cftime chainer chardet charset-normalizer cheroot "
    "cherrypy chex click click-plugins cligj clip-anytorch cloudpickle cmaes cmdstanpy "
    "colorama colorcet coloredlogs colorlog comet-ml commonmark configargparse configobj "
    "contextlib2 contourpy coverage croniter cryptography cupy cvxopt cvxpy cycler cymem "
    "cython cytoolz dacite dash dask dask-jobqueue dataclasses dataclasses-json datasets "
    "datashader deap debugpy decorator deepdiff deepspeed defusedxml deprecated descartes dgl "
    "diffusers dill diskcache distributed dm-tree dnspython docopt docstring-parser docutils "
    "dominate duckdb easydict ecos editdistance efficientnet-pytorch einops emcee emoji "
    "entrypoints et-xmlfile evaluate execnet executing fairscale fairseq faiss-cpu faiss-gpu "
    "fastai fastapi fastcore fastdownload fastjsonschema fastprogress fastrlock fasttext "
    "filelock fiona fire flake8 flask flask-cors flatbuffers flax folium fonttools formulaic "
    "frozendict frozenlist fsspec ftfy funcy future fuzzywuzzy fvcore gast gcsfs gdown gensim "
    "geopandas geopy gevent gitdb gitpython gluonnlp google-api-core google-api-python-client "
    "google-auth google-auth-oauthlib google-cloud-storage google-pasta "
    "googleapis-common-protos gpustat gpy gpytorch greenlet grpcio grpcio-tools gspread "
    "gunicorn gym gymnasium h11 h2 h5netcdf h5py hdbscan hdf5storage hdmedians heapdict "
    "higher hjson holidays holoviews html5lib httpcore httplib2 httptools httpx "
    "huggingface-hub humanfriendly humanize hydra-core hyperopt hypothesis idna imageio "
    "imageio-ffmpeg imagesize imbalanced-learn imgaug immutabledict importlib-metadata "
    "importlib-resources imutils inflect iniconfig iopath ipdb ipykernel ipympl ipython "
    "ipython-genutils ipywidgets isodate isort itsdangerous jax jaxlib jedi jieba jinja2 "
    "jmespath joblib jpype1 json5 jsonargparse jsonlines jsonpatch jsonpickle jsonpointer "
    "jsonschema julius jupyter jupyter-client jupyter-console jupyter-core jupyter-server "
    "jupyterlab jupyterlab-pygments jupyterlab-server jupyterlab-widgets kaggle keras "
    "keras-applications keras-preprocessing keras-tuner kiwisolver kornia langchain "
    "langdetect lazy-loader lazy-object-proxy libpysal librosa lifelines lightgbm lightning "
    "lightning-utilities line-profiler llvmlite lmdb locket loguru loompy lpips lxml lz4 mako "
    "markdown markdown-it-py markupsafe marshmallow matplotlib matplotlib-inline mccabe mdurl "
    "memory-profiler mistune ml-collections ml-dtypes mlflow mlxtend mne monai more-itertools "
    "mpi4py mpmath msgpack multidict multiprocess munch munkres murmurhash mxnet mypy "
    "mypy-extensions mysql-connector-python mysqlclient natsort nbclassic nbclient nbconvert "
    "nbformat neptune-client nest-asyncio netcdf4 networkx nibabel nilearn ninja nltk nose "
    "notebook notebook-shim numba numcodecs numexpr numpy numpydoc nvidia-ml-py nvitop "
    "oauthlib oct2py omegaconf onnx onnxruntime onnxruntime-gpu openai opencv-python "
    "opencv-python-headless openpyxl opt-einsum optax optuna ordered-set orjson overrides "
    "packaging paddlepaddle pandarallel pandas pandas-datareader pandocfilters panel "
    "papermill param paramiko parso partd pastel path pathlib2 pathos pathspec pathtools "
    "patsy peewee peft pexpect phonopy pickleshare pillow pint plac platformdirs plotly "
    "plotnine pluggy ply pooch portalocker pot poyo preshed prettytable prometheus-client "
    "promise prompt-toolkit propcache protobuf psutil psycopg2 ptyprocess pudb pulp pure-eval "
    "py py-cpuinfo pyarrow pyasn1 pyasn1-modules pybind11 pybullet pycairo pycocotools "
    "pycodestyle pycparser pycryptodome pycryptodomex pycuda pydantic pydantic-core pydicom "
    "pydot pydub pyerfa pyfftw pyflakes pygame pyglet pygments pyjwt pykeops pylint pymatgen "
    "pymc pymc3 pymongo pymysql pynndescent pynvml pyopengl pyopenssl pyparsing pyproj "
    "pyro-ppl pyrsistent pysam pyserial pyshp pysocks pyspark pystan pytest pytest-cov "
    "pytest-mock pytest-xdist python-box python-dateutil python-dotenv python-igraph "
    "python-json-logger python-levenshtein python-multipart python-slugify python-snappy "
    "pytorch-forecasting pytorch-ignite pytorch-lightning pytorch-metric-learning pytz "
    "pytz-deprecation-shim pyvista pyviz-comms pywavelets pyyaml pyzmq qtconsole qtpy "
    "rasterio ray rdflib rdkit regex requests requests-oauthlib resampy retrying "
    "rfc3339-validator rich rouge-score rpy2 rsa rtree ruamel.yaml ruff s3fs s3transfer "
    "sacrebleu sacremoses safetensors salib scanpy scapy scikit-bio scikit-image scikit-learn "
    "scikit-learn-intelex scikit-optimize scikit-plot scikit-rf scikit-video scipy scs "
    "seaborn selenium semver send2trash sentence-transformers sentencepiece sentry-sdk "
    "seqeval setproctitle setuptools setuptools-scm sh shap shapely shellingham simpleitk "
    "simplejson six sklearn-pandas smart-open smmap snakeviz sniffio snowballstemmer "
    "sortedcontainers soundfile soupsieve spacy spacy-legacy spacy-loggers sparse sphinx "
    "sphinx-rtd-theme sqlalchemy sqlparse srsly stable-baselines3 stack-data starlette "
    "statsmodels streamlit submitit subword-nmt sympy tabulate tblib tenacity tensorboard "
    "tensorboard-data-server tensorboard-plugin-wit tensorboardx tensorflow tensorflow-addons "
    "tensorflow-datasets tensorflow-estimator tensorflow-hub tensorflow-metadata "
    "tensorflow-probability tensorstore termcolor terminado testpath textblob texttable "
    "tf-slim theano thinc thop threadpoolctl tifffile tiktoken timm tinycss2 tokenizers toml "
    "tomli tomlkit toolz torch torch-geometric torchaudio torchdata torchinfo torchmetrics "
    "torchsummary torchtext torchvision tornado tqdm traitlets transformers treelib trimesh "
    "triton trl typed-ast typeguard typer typing-extensions typing-inspect tzdata tzlocal "
    "ujson umap-learn uncertainties unidecode uritemplate urllib3 uvicorn uvloop visdom vtk "
    "wandb wasabi watchdog watchfiles wcwidth webcolors webdataset webencodings "
    "websocket-client websockets werkzeug wheel widgetsnbextension wordcloud wrapt xarray "
    "xarray-einstats xformers xgboost xlrd xlsxwriter xlwt xmltodict xxhash yacs yapf yarl "
    "zarr zict zipp zstandard ";

struct Renamed {
  std::string_view conda;
  std::string_view pip;
};
constexpr Renamed kRenamed[] = {
    {"brotli-python", "brotli"},
    {"dask-core", "dask"},
    {"docker-py", "docker"},
    {"faiss", "faiss-cpu"},
    {"ignite", "pytorch-ignite"},
    {"keras-base", "keras"},
    {"matplotlib-base", "matplotlib"},
    {"msgpack-python", "msgpack"},
    {"mxnet-gpu", "mxnet"},
    {"opencv", "opencv-python"},
    {"py-opencv", "opencv-python"},
    {"py-xgboost", "xgboost"},
    {"py-xgboost-cpu", "xgboost"},
    {"py-xgboost-gpu", "xgboost"},
    {"pyg", "torch-geometric"},
    {"pyqt", "PyQt5"},
    {"pysoundfile", "soundfile"},
    {"pytables", "tables"},
    {"python-annoy", "annoy"},
    {"python-blosc", "blosc"},
    {"python-duckdb", "duckdb"},
    {"python-fastjsonschema", "fastjsonschema"},
    {"python-flatbuffers", "flatbuffers"},
    {"python-graphviz", "graphviz"},
    {"python-kubernetes", "kubernetes"},
    {"python-lmdb", "lmdb"},
    {"python-tzdata", "tzdata"},
    {"python-wget", "wget"},
    {"python-xxhash", "xxhash"},
    {"pytorch", "torch"},
    {"pytorch-cluster", "torch-cluster"},
    {"pytorch-cpu", "torch"},
    {"pytorch-geometric", "torch-geometric"},
    {"pytorch-gpu", "torch"},
    {"pytorch-scatter", "torch-scatter"},
    {"pytorch-sparse", "torch-sparse"},
    {"pytorch-spline-conv", "torch-spline-conv"},
    {"ray-core", "ray"},
    {"redis-py", "redis"},
    {"ruamel-yaml", "ruamel.yaml"},
    {"tensorflow-base", "tensorflow"},
    {"tensorflow-gpu", "tensorflow"},
    {"uvicorn-standard", "uvicorn"},
};

constexpr std::string_view kNotPython =
    " "
    "_libgcc_mutex _openmp_mutex _tflow_select aom autoconf automake binutils blas blosc "
    "boost boost-cpp bzip2 c-ares c-compiler ca-certificates cairo clang cmake compilers "
    "cpuonly cuda cuda-compiler cuda-cudart cuda-nvcc cuda-runtime cuda-toolkit cudatoolkit "
    "cudatoolkit-dev cudnn curl cxx-compiler dbus eigen expat ffmpeg fftw fontconfig "
    "fortran-compiler freeglut freetype gcc gdb geos gettext gflags gfortran git git-lfs glfw "
    "glib glog gmp gnutls graphviz gsl gxx harfbuzz hdf4 hdf5 htop icu igraph intel-openmp "
    "jasper jpeg jq kernel-headers_linux-64 krb5 kubernetes lame lcms2 ld_impl_linux-64 "
    "leveldb libaio libblas libcblas libcurl libcxx libedit libev libevent libffi libgcc "
    "libgcc-ng libgfortran libgfortran-ng libgomp libiconv libjpeg-turbo liblapack libllvm "
    "libnghttp2 libnsl libopenblas libopencv libpng libprotobuf libsndfile libsodium "
    "libspatialindex libssh2 libstdcxx-ng libtiff libtool libuuid libuv libvpx libwebp libxcb "
    "libxml2 libxslt llvm-openmp lz4-c magma make mamba mariadb mesalib mkl mpc mpfr mpi "
    "mpich mysql nasm nccl ncurses nettle ninja-base nodejs nsight-compute numactl openblas "
    "opencl-headers openh264 openjdk openjpeg openmpi openslide openssl pandoc parallel "
    "patchelf pcre perl pixman pkg-config pkgconfig postgresql proj python_abi pytorch-cuda "
    "pytorch-mutex qt r-base readline redis rsync rust samtools sdl2 singularity snappy sox "
    "sqlite swig sysroot_linux-64 tbb tk tmux tree unzip wget x264 x265 xerces-c xz yaml "
    "zeromq zip zlib zstd ";

bool lists(std::string_view words, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  const std::string word = " " + std::string(name) + " ";
  return words.find(word) != std::string_view::npos;
}

}  // namespace

std::string_view python_package(std::string_view conda) {
  // The index takes '_' for '-'; so does the list.
  std::string name(conda);
  std::replace(name.begin(), name.end(), '_', '-');
  for (const Renamed& renamed : kRenamed) {
    if (renamed.conda == name) return renamed.pip;
  }
  return lists(kSame, name) ? conda : std::string_view();
}

bool only_of_conda(std::string_view conda) { return lists(kNotPython, conda); }

}  // namespace dove::jobfiles
