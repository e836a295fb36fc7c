# ioopt with machine code compiled beforehand:  docker build -t ioopt . && docker run --rm ioopt compare cycle3
FROM python:3.11 AS build
COPY . /src
# This image has a C compiler; without one the kernels would be plain Python.
RUN IOOPT_NEED_KERNELS=1 pip wheel --no-cache-dir --no-deps -w /wheels /src
FROM python:3.11-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[fast,plot,serve]" && rm -rf /wheels
# Kernels are kept where every user may read them.
ENV NUMBA_CACHE_DIR=/var/cache/ioopt OMP_NUM_THREADS=1
RUN mkdir -p "$NUMBA_CACHE_DIR" && ioopt -q doctor --compile && useradd --create-home --uid 1000 ioopt
USER 1000
WORKDIR /home/ioopt
ENTRYPOINT ["ioopt"]
CMD ["--help"]
